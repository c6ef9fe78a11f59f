"""Parts of Hugging Face models; not available in this version."""

from qbcompiler.model_dict.parser.absent import absent

_WHAT = "choosing a part of a Hugging Face model"

available_parts = absent("available_parts", _WHAT)
load_for_part = absent("load_for_part", _WHAT)
prepare_part = absent("prepare_part", _WHAT)

__all__ = ["available_parts", "load_for_part", "prepare_part"]
