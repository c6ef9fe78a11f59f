"""What several dialects share: property kinds, the plain assembly form of tensor ops, shape arithmetic."""

from qbc.dialects.common.plain_form import PlainFormOp
from qbc.dialects.common.properties import (
    as_attribute,
    as_python,
    bool_prop,
    f32_prop,
    f64_prop,
    float_list,
    float_list_prop,
    int_list,
    int_list_prop,
    int_prop,
    opt_f64_prop,
    opt_str_prop,
    str_prop,
)
from qbc.dialects.common.shapes import DYNAMIC, broadcast, normalize_axis, window_size

__all__ = [
    "DYNAMIC",
    "PlainFormOp",
    "as_attribute",
    "as_python",
    "bool_prop",
    "broadcast",
    "f32_prop",
    "f64_prop",
    "float_list",
    "float_list_prop",
    "int_list",
    "int_list_prop",
    "int_prop",
    "normalize_axis",
    "opt_f64_prop",
    "opt_str_prop",
    "str_prop",
    "window_size",
]
