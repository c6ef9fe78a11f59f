"""Marks on tensors for the PyTorch backend; not available in this version."""

from qbcompiler.model_dict.parser.absent import absent

set_attention_mask = absent("set_attention_mask", "the backend torch")

__all__ = ["set_attention_mask"]
