"""From a kernel call to a function: which family module serves a kind, and the guard around every kernel."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from qbc.errors import QBCompilerError
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
    family = _FAMILY_OF_KIND.get(call.kind)
    if family is None:
        raise QBCompilerError(f"unknown integer operation {call.kind!r}", code="INVALID_SNAPSHOT")
    builder: Callable[[KernelCall], Kernel] = import_module(f"qbc.kernels.{family}").KINDS[call.kind]
    return _guarded(call, builder(call))


def _guarded(call: KernelCall, run: Kernel) -> Kernel:
    expected = tuple((spec.shape, np.dtype(spec.numpy_dtype)) for spec in (*call.inputs, call.output))

    def kernel(*arrays: Array) -> None:
        if len(arrays) != len(expected):
            raise QBCompilerError(f"{call.kind} takes {len(expected)} arrays, got {len(arrays)}", code="RUNTIME_ERROR")
        for array, (shape, dtype) in zip(arrays, expected, strict=True):
            if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
                found = f"{array.dtype}{list(array.shape)}"
                raise QBCompilerError(
                    f"{call.kind}: expected a contiguous {dtype}{list(shape)} array, got {found}", code="RUNTIME_ERROR"
                )
        if all(array.flags.writeable for array in arrays):
            run(*arrays)
            return
        if not arrays[-1].flags.writeable:
            raise QBCompilerError(f"{call.kind}: the output array is read-only", code="RUNTIME_ERROR")
        run(*(array if array.flags.writeable else array.copy() for array in arrays))  # see CallChecks.constant

    return kernel
