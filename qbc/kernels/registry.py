"""From a kernel call to a function: which family module serves a kind, and the guard around every kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from qbc.errors import QBCompilerError
from qbc.kernels.blocks import CHANNELS, prepare_block
from qbc.kernels.compile import Array
from qbc.kernels.spec import KernelCall

Kernel = Callable[..., None]

FAMILY_KINDS: dict[str, tuple[str, ...]] = {
    "convolution": ("conv2d", "depthwise_conv2d"),
    "transpose_convolution": ("transpose_conv2d",),
    "matmul": ("linear", "matmul"),
    "elementwise": (
        *("add", "sub", "mul", "div", "maximum", "minimum"),
        *("equal", "greater", "less", "logical_and", "logical_or", "logical_not", "where"),
    ),
    "activation": ("lut", "lut16", "mantissa_lut"),
    "normalization": ("softmax", "log_softmax", "layer_norm"),
    "pooling": ("max_pool2d", "avg_pool2d"),
    "reduction": ("reduce_sum", "reduce_max", "reduce_min", "reduce_l2", "arg_max"),
    "shape": ("reshape", "transpose", "slice", "concat", "expand", "gather", "pad", "tile"),
    "resize": ("resize_nearest", "resize_linear"),
    "boundary": ("requantize", "quantize", "dequantize"),
}
_FAMILY_OF_KIND = {kind: family for family, kinds in FAMILY_KINDS.items() for kind in kinds}


def prepare(call: KernelCall) -> Kernel:
    """Validate a call, pack its weights, and return the function that runs it.

    The function takes the input arrays and then the output array, all C-contiguous and of exactly the shapes and
    storage types of the call, and fills the output; read-only inputs are copied first. It may be called from several
    threads at once. An invalid call raises INVALID_SNAPSHOT here; arrays that do not fit and gather indices out of
    range raise RUNTIME_ERROR at a run.
    """
    run = _build(call)

    def kernel(*arrays: Array) -> None:
        run(*_fitting(call, arrays))

    return kernel


def bind(call: KernelCall, arrays: Sequence[Array]) -> Callable[[], None]:
    """Prepare a call for the arrays (inputs, then output) that it will always run on; they are checked once, here.

    Errors are those of `prepare`. Read-only inputs are copied here, so their values must not change later.
    """
    return binder(call)(arrays)


def binder(call: KernelCall) -> Callable[[Sequence[Array]], Callable[[], None]]:
    """Prepare a call once and return the function that binds it to arrays, as `bind` does."""
    run = _build(call)

    def bound(arrays: Sequence[Array]) -> Callable[[], None]:
        fitting = _fitting(call, arrays)
        return lambda: run(*fitting)

    return bound


def _build(call: KernelCall) -> Kernel:
    family = _FAMILY_OF_KIND.get(call.kind)
    if family is None:
        raise QBCompilerError(f"unknown integer operation {call.kind!r}", code="INVALID_SNAPSHOT")
    if CHANNELS in call.attributes:
        return prepare_block(call, _build)
    builder: Callable[[KernelCall], Kernel] = import_module(f"qbc.kernels.{family}").KINDS[call.kind]
    return builder(call)


def _fitting(call: KernelCall, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Return the arrays of a call, read-only inputs copied (see CallChecks.constant); all must fit."""
    specs = (*call.inputs, call.output)
    if len(arrays) != len(specs):
        raise QBCompilerError(f"{call.kind} takes {len(specs)} arrays, got {len(arrays)}", code="RUNTIME_ERROR")
    for array, spec in zip(arrays, specs, strict=True):
        if array.shape != spec.shape or array.dtype != spec.numpy_dtype or not array.flags.c_contiguous:
            expected, found = f"{spec.numpy_dtype}{list(spec.shape)}", f"{array.dtype}{list(array.shape)}"
            raise QBCompilerError(
                f"{call.kind}: expected a contiguous {expected} array, got {found}", code="RUNTIME_ERROR"
            )
    if not arrays[-1].flags.writeable:
        raise QBCompilerError(f"{call.kind}: the output array is read-only", code="RUNTIME_ERROR")
    return tuple(array if array.flags.writeable else array.copy() for array in arrays)
