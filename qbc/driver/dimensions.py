"""Symbolic input dimensions: bound from the first calibration sample, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType

from qbc.driver.samples import argument_attributes, input_specs, main_function, preprocessing_of

if TYPE_CHECKING:
    from qbc.config import CompileConfig

Shape = tuple[int, ...]


def symbolic_inputs(module: ModuleOp) -> dict[str, Shape]:
    """Return name and shape (-1 where symbolic) of each graph input of a source model that is not fixed."""
    func = main_function(module)
    found: dict[str, Shape] = {}
    for argument, attributes in zip(func.args, argument_attributes(func), strict=True):
        name = attributes.get("framework.name")
        if not isinstance(argument.type, TensorType) or not isinstance(name, StringAttr):
            continue
        shape = argument.type.get_shape()
        if any(dim < 0 for dim in shape):
            found[name.data] = tuple(shape)
    return found


def shapes_from_samples(module: ModuleOp, data: Any, config: CompileConfig | None = None) -> dict[str, Shape]:
    """Return the shapes that the first calibration sample gives to the symbolic inputs of a source model.

    A sample may be in the layout of the model or channel-last, with or without a leading axis of one; where a sample
    fits no symbolic shape the input stays unbound, and what is wrong is told when samples are read.
    """
    open_inputs = symbolic_inputs(module)
    if not open_inputs:
        return {}
    found = _first_shapes(module, data, config)
    bound = {name: _bind(shape, found[name]) for name, shape in open_inputs.items() if name in found}
    return {name: shape for name, shape in bound.items() if shape is not None}


def _first_shapes(module: ModuleOp, data: Any, config: CompileConfig | None) -> dict[str, Shape]:
    """Return the shapes of the first sample as the network sees it."""
    from qbc.calibration import FileSamples, InputSpec, open_samples

    func = main_function(module)
    specs = []
    for argument, attributes in zip(func.args, argument_attributes(func), strict=True):
        name = attributes.get("framework.name")
        if isinstance(argument.type, TensorType) and isinstance(name, StringAttr):
            specs.append(InputSpec(name.data, _channels_last(tuple(argument.type.get_shape()))))
    preprocessing = preprocessing_of(config)
    source = open_samples(data, specs, preprocessing=preprocessing)
    arrays = source.raw(0) if isinstance(source, FileSamples) else source.samples[0]
    return {name: preprocessing.network_shape(name, tuple(array.shape)) for name, array in arrays.items()}


def _channels_last(shape: Shape) -> Shape:
    """Return the shape of an image input with its channels last, for the number of channels that images get."""
    is_channel_first = len(shape) == 4 and shape[1] in (1, 3) and shape[3] not in (1, 3)
    return (shape[0], shape[2], shape[3], shape[1]) if is_channel_first else shape


def _bind(symbolic: Shape, found: Shape) -> Shape | None:
    """Return `symbolic` with the dimensions of a sample: channel-last first, then the layout of the model."""
    if len(found) == len(symbolic) - 1:
        found = (1, *found)
    if len(found) != len(symbolic):
        return None
    forms = [found]
    if len(found) == 4:
        forms.insert(0, (found[0], found[3], found[1], found[2]))
    for form in forms:
        if all(wanted < 0 or wanted == size for wanted, size in zip(symbolic, form, strict=True)):
            return form
    return None


def require_fixed_inputs(module: ModuleOp, *, is_snapshot: bool) -> None:
    """Raise SHAPE_ERROR when an input of an mblt module is symbolic, with the command that binds it."""
    input_specs(module, "parse the source model again with qbcompiler parse" if is_snapshot else "bind them with")
