"""Captured inputs of PyTorch modules; not available in this version."""

from qbcompiler.model_dict.parser.absent import absent

capture_forward_inputs = absent("capture_forward_inputs", "the backend torch")

__all__ = ["capture_forward_inputs"]
