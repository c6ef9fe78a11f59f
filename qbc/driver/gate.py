"""The numeric gate of float passes: mblt modules are run on seeded inputs before and after each pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Dialect

from qbc.driver.samples import argument_attributes, input_specs, main_function
from qbc.passes.base import CompileContext
from qbc.pipelines.instrumentation import NumericGate

if TYPE_CHECKING:
    import numpy.typing as npt

    Outputs = dict[str, npt.NDArray[Any]]

DEFAULT_TOLERANCE = 1e-4


def numeric_gate(tolerance: float = DEFAULT_TOLERANCE) -> NumericGate:
    """Return a gate over float modules; `tolerance` bounds max |difference| / max |reference| of every output."""
    return NumericGate(run_float, relative_distance, tolerance)


def run_float(module: ModuleOp, ctx: CompileContext) -> Outputs | None:
    """Run `@main` in float on seeded inputs; outputs come in the layout of the source model.

    None for modules that are not (wholly) mblt.
    """
    import numpy as np

    from qbc.calibration.inputs import SOURCE_PERMUTATIONS

    if not _is_float(module):
        return None
    from qbc.execute.float_torch import run

    func = main_function(module)
    generator = np.random.default_rng(0)
    inputs = {}
    for spec in input_specs(module):
        source = generator.normal(size=spec.source_shape or spec.shape)
        array = source if spec.permutation is None else source.transpose(spec.permutation)
        integer = np.dtype(spec.dtype).kind in "iub"
        inputs[spec.name] = np.asarray(np.zeros_like(array) if integer else array, dtype=spec.dtype, order="C")
    outputs = {}
    layouts = _result_layouts(func)
    for name, value in run(func, ctx.store, inputs).items():
        layout = layouts.get(name)
        order = np.argsort(SOURCE_PERMUTATIONS[layout]) if layout else None
        outputs[name] = value if order is None else value.transpose(order)
    return outputs


def relative_distance(reference: Outputs, measured: Outputs) -> float:
    """Return the largest max |difference| / max |reference| over all outputs; infinite where names or shapes differ."""
    import numpy as np

    if reference.keys() != measured.keys():
        return float("inf")
    worst = 0.0
    for name, wanted in reference.items():
        if wanted.shape != measured[name].shape:
            return float("inf")
        scale = max(float(np.abs(wanted).max(initial=0.0)), 1e-30)
        worst = max(worst, float(np.abs(wanted - measured[name]).max(initial=0.0)) / scale)
    return worst


def _is_float(module: ModuleOp) -> bool:
    dialects = {Dialect.split_name(op.name)[0] for op in module.walk() if "." in op.name}
    if dialects - {"builtin", "func", "mblt"}:
        return False
    return any("mblt.name" in attributes for attributes in argument_attributes(main_function(module)))


def _result_layouts(func: FuncOp) -> dict[str, str]:
    layouts: dict[str, str] = {}
    for entry in func.res_attrs.data if func.res_attrs is not None else ():
        attributes: dict[str, Attribute] = dict(getattr(entry, "data", {}))
        name, layout = attributes.get("mblt.name"), attributes.get("mblt.source_layout")
        if isinstance(name, StringAttr) and isinstance(layout, StringAttr):
            layouts[name.data] = layout.data
    return layouts
