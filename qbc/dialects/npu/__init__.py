"""The `npu` dialect: one program per target, mode and variant; values until `npu-assign-buffers`, then buffers."""

from xdsl.ir import Dialect, Operation

from qbc.dialects.npu import (
    activation,
    convolution,
    elementwise,
    matmul,
    normalization,
    pooling,
    reduction,
    resize,
    shape,
)
from qbc.dialects.npu.base import KernelOp, value_type
from qbc.dialects.npu.program import BufferOp, ConstantOp, ProgramOp, ReturnOp, ViewOp, buffer_root
from qbc.dialects.npu.types import BufferType, HostTensorAttr, NpuTensorType

_FAMILIES = (convolution, matmul, elementwise, activation, normalization, pooling, reduction, shape, resize)


def _kernel_ops() -> list[type[KernelOp]]:
    found = [value for family in _FAMILIES for value in vars(family).values()]
    classes = [value for value in found if isinstance(value, type) and issubclass(value, KernelOp)]
    return list(dict.fromkeys(value for value in classes if "name" in vars(value)))


KERNEL_OPS: dict[str, type[KernelOp]] = {op.name: op for op in _kernel_ops()}
_PROGRAM_OPS: list[type[Operation]] = [ProgramOp, ReturnOp, ConstantOp, BufferOp, ViewOp]

Npu = Dialect("npu", [*_PROGRAM_OPS, *KERNEL_OPS.values()], [NpuTensorType, BufferType, HostTensorAttr])

__all__ = [
    "KERNEL_OPS",
    "BufferOp",
    "BufferType",
    "ConstantOp",
    "HostTensorAttr",
    "KernelOp",
    "Npu",
    "NpuTensorType",
    "ProgramOp",
    "ReturnOp",
    "ViewOp",
    "buffer_root",
    "value_type",
]
