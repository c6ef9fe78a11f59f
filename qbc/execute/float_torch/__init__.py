"""Float execution of mblt functions with torch: one operation at a time, values freed at their last use."""

from qbc.execute.float_torch.runner import KERNELS, FloatProgram, evaluate, run

__all__ = ["KERNELS", "FloatProgram", "evaluate", "run"]
