"""The numeric gate of float passes: modules are run on seeded inputs before and after each pass.

Framework modules run in onnxruntime, mblt modules operation by operation. What cannot be run is told in a notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, TensorType, UnregisteredOp

from qbc.dialects.common.graph import result_names, source_layouts
from qbc.driver.samples import argument_attributes, input_specs, main_function
from qbc.errors import QBCompilerError
from qbc.passes.base import CompileContext
from qbc.pipelines.instrumentation import NumericGate

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Outputs = dict[str, Array]

DEFAULT_TOLERANCE = 1e-4
_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")


def numeric_gate(tolerance: float = DEFAULT_TOLERANCE) -> NumericGate:
    """Return a gate over float modules; `tolerance` bounds max |difference| / max |reference| of every output."""
    return NumericGate(run_float, relative_distance, tolerance)


def run_float(module: ModuleOp, ctx: CompileContext) -> Outputs | None:
    """Run `@main` in float on seeded inputs; outputs come in the layout of the source model.

    None, with a notice, for modules that are not run: quantized and lowered ones, those with open inputs or random
    results. Raises UNSUPPORTED_OP, or what the executing part raises, for a module that does not run.
    """
    names = {op.op_name.data if isinstance(op, UnregisteredOp) else op.name for op in module.walk()}
    dialects = {name.partition(".")[0] for name in names} - {"builtin", "func"}
    if not dialects:
        return None
    further = sorted(dialects - {"framework", "mblt"})
    is_mblt = not further and ("mblt" in dialects or _has_mblt_interface(module))
    reason = f"{further[0]} modules" if further else _why_not(module, names, is_mblt)
    if reason is not None:
        ctx.notice(f"the numeric gate does not run {reason}: passes on them are not compared")
        return None
    return _run_mblt(module, ctx) if is_mblt else _run_framework(module, ctx)


def _why_not(module: ModuleOp, names: set[str], is_mblt: bool) -> str | None:
    """Return which float modules of this kind are not run, None for a module that is."""
    if "func.call" in names:
        return "modules whose functions call each other"
    if any(name.removeprefix("framework.") in _RANDOM for name in names):
        return "modules with random results"
    kinds = [argument.type for argument in main_function(module).args]
    if any(isinstance(kind, TensorType) and not kind.has_static_shape() for kind in kinds):
        return "modules whose inputs have open dimensions (--input-shape binds them)"
    if is_mblt and any(op.regions for op in module.walk() if op.name.startswith("framework.")):
        return "mblt functions with branches or loops"
    return None


def _has_mblt_interface(module: ModuleOp) -> bool:
    function = main_function(module)
    return any("mblt.name" in attributes for attributes in argument_attributes(function))


def _seeded_inputs(module: ModuleOp) -> Outputs:
    """Return normal numbers for float inputs and zeros for the others, equal in every layout."""
    import numpy as np

    generator = np.random.default_rng(0)
    inputs = {}
    for spec in input_specs(module):
        source = generator.normal(size=spec.source_shape or spec.shape)
        array = source if spec.permutation is None else source.transpose(spec.permutation)
        is_integer = np.dtype(spec.dtype).kind in "iub"
        inputs[spec.name] = np.asarray(np.zeros_like(array) if is_integer else array, dtype=spec.dtype, order="C")
    return inputs


def _run_framework(module: ModuleOp, ctx: CompileContext) -> Outputs:
    import onnxruntime

    from qbc.execute.onnxruntime_errors import onnxruntime_errors
    from qbc.export.onnx import framework_to_onnx

    names = result_names(main_function(module))
    inputs = _seeded_inputs(module)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        model = framework_to_onnx(module, ctx.store).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return dict(zip(names, session.run(None, inputs), strict=True))
    except onnxruntime_errors() as error:
        raise _refused(error) from error


def _run_mblt(module: ModuleOp, ctx: CompileContext) -> Outputs:
    import numpy as np

    from qbc.calibration.inputs import SOURCE_PERMUTATIONS
    from qbc.execute.float_torch import run

    function = main_function(module)
    inputs = _seeded_inputs(module)
    try:
        found = run(function, ctx.store, inputs)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:  # what torch raises for what does not fit
        raise _refused(error) from error
    layouts = source_layouts(function.res_attrs, len(function.function_type.outputs))
    outputs = {}
    for name, layout in zip(result_names(function), layouts, strict=True):
        order = None if layout is None else np.argsort(SOURCE_PERMUTATIONS[layout])
        outputs[name] = found[name] if order is None else found[name].transpose(order)
    return outputs


def _refused(error: Exception) -> QBCompilerError:
    if isinstance(error, QBCompilerError):
        return error
    return QBCompilerError(f"it does not run: {' '.join(str(error).split())[:200]}", code="UNSUPPORTED_OP")


def relative_distance(reference: Outputs, measured: Outputs) -> float:
    """Return the largest max |difference| / max |reference| over all outputs; infinite where names or shapes differ.

    Elements that are not numbers, and infinite ones, must be the same in both.
    """
    if reference.keys() != measured.keys():
        return float("inf")
    return max((_distance(wanted, measured[name]) for name, wanted in reference.items()), default=0.0)


def _distance(wanted: Array, got: Array) -> float:
    import numpy as np

    if np.shape(wanted) != np.shape(got):
        return float("inf")
    if np.asarray(wanted).dtype.kind not in "biuf" or np.asarray(got).dtype.kind not in "biuf":
        return 0.0 if np.array_equal(wanted, got) else float("inf")
    expected, found = np.asarray(wanted, np.float64), np.asarray(got, np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], found[~finite], equal_nan=True) or not np.isfinite(found[finite]).all():
        return float("inf")
    scale = max(float(np.abs(expected[finite]).max(initial=0.0)), 1e-30)
    return float(np.abs(expected[finite] - found[finite]).max(initial=0.0)) / scale
