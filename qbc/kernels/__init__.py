"""Exact integer kernels, shared by quant execution and the runtime."""

from qbc.kernels.spec import CODE_RANGES, KernelCall, TensorSpec

__all__ = ["CODE_RANGES", "KernelCall", "TensorSpec"]
