"""Tensors with dynamic axes for the PyTorch backend; not available in this version."""

from qbcompiler.model_dict.parser.absent import absent
from qbcompiler.model_dict.parser.backend.torch.object_wrapper import set_attention_mask

wrap_tensor = absent("wrap_tensor", "the backend torch")

__all__ = ["set_attention_mask", "wrap_tensor"]
