"""Exact integer kernels, shared by quant execution and the runtime."""

from qbc.kernels.families import families_in_use
from qbc.kernels.registry import FAMILY_KINDS, Kernel, bind, binder, prepare
from qbc.kernels.spec import CODE_RANGES, KernelCall, TensorSpec

__all__ = [
    "CODE_RANGES",
    "FAMILY_KINDS",
    "Kernel",
    "KernelCall",
    "TensorSpec",
    "bind",
    "binder",
    "families_in_use",
    "prepare",
]
