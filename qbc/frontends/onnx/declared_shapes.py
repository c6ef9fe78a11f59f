"""What the model states about the shapes of its outputs: names of dimensions, and sizes that inference does not find.

Stated shapes may be stale: they are forgotten before inference and complete its result afterwards. Names and the
number of dimensions are taken always. Sizes stand in `framework.dims` for `framework-fold-shapes`, which takes what it
does not find itself; none where an input was bound, because they may follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_NAMELESS = ("", "?")


def dimension_names_of(values: Iterable[Any]) -> set[str]:
    """Return the names of the dimensions of tensor values."""
    return {dim.dim_param for value in values for dim in _dims(value) if _is_name(dim.dim_param)}


@dataclass(frozen=True)
class DeclaredShapes:
    """Stated dimensions of the graph outputs: each a name, a size or None; and the names of the source model."""

    shapes: dict[str, list[str | int | None]]
    names: frozenset[str]

    @classmethod
    def of(cls, model: Any, bound: set[str], *, keep_sizes: bool) -> DeclaredShapes:
        """Read the outputs of a model; `bound` are names that have a size now."""
        outputs = model.graph.output
        known = dimension_names_of([*model.graph.input, *outputs]) - bound
        shapes = {
            value.name: [_stated(dim, known, keep_sizes) for dim in _dims(value)]
            for value in outputs
            if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape")
        }
        return cls(shapes, frozenset(known))

    def write_names(self, model: Any) -> None:
        """Write ranks and names into the outputs of a model with inferred types, and drop names that inference made."""
        for value in model.graph.output:
            if not value.type.HasField("tensor_type"):
                continue
            shape, stated = value.type.tensor_type, self.shapes.get(value.name)
            if not shape.HasField("shape") and stated is not None:
                shape.shape.SetInParent()
                for _ in stated:
                    shape.shape.dim.add()
            for index, dim in enumerate(_dims(value)):
                said = stated[index] if stated is not None and len(stated) == len(_dims(value)) else None
                self._name(dim, said)

    def _name(self, dim: Any, said: str | int | None) -> None:
        if dim.HasField("dim_value"):
            return
        if dim.dim_param not in self.names:
            dim.ClearField("dim_param")
        if isinstance(said, str):
            dim.dim_param = said

    def dimension_texts(self, value: Any) -> list[str] | None:
        """Return the dimensions of an output of the prepared model as text: size, name, stated size or `?`.

        None where there is no shape, or all its sizes are known.
        """
        dims, stated = _dims(value), self.shapes.get(value.name)
        if not value.type.tensor_type.HasField("shape") or all(dim.HasField("dim_value") for dim in dims):
            return None
        said = stated if stated is not None and len(stated) == len(dims) else [None] * len(dims)
        return [_text(dim, size) for dim, size in zip(dims, said, strict=True)]


def _text(dim: Any, said: str | int | None) -> str:
    if dim.HasField("dim_value"):
        return str(dim.dim_value)
    return dim.dim_param or ("?" if said is None else str(said))


def _dims(value: Any) -> Any:
    return value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()


def _is_name(text: str) -> bool:
    return text not in _NAMELESS and not text.isdigit()


def _stated(dim: Any, names: set[str], keep_sizes: bool) -> str | int | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if keep_sizes and dim.dim_value >= 0 else None
    return str(dim.dim_param) if dim.dim_param in names else None
