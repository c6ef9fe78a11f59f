"""Reference of the integer arithmetic, written from its text alone; imports nothing of the compiler.

Accumulators are summed in numpy int64; everything after the accumulator is Python integers (object arrays). Tensors are
plain integer codes. `run(kind, inputs, attributes, constants, shape, dtype)` computes one operation.
"""

from .arithmetic import CODE_RANGES
from .operations import run

__all__ = ["CODE_RANGES", "run"]
