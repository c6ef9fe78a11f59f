"""QDQ export: quantize a parsed graph up to its integers, and write it as ONNX with its scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qbc.atomic import temporary_directory
from qbc.driver.compile import compile_model
from qbc.driver.context import DriverContext, make_context
from qbc.driver.files import read_module, require_file
from qbc.driver.outputs import check_output
from qbc.driver.plan import CompileOptions, make_plan
from qbc.driver.samples import main_function
from qbc.errors import ArgumentError, QBCompilerError
from qbc.passes.levels import present_levels
from qbc.pipelines.phases import without_pass

if TYPE_CHECKING:
    from qbc.export.onnx_qdq import ActivationEncoding, WeightEncoding

# What makes integers of the scales, what needs them, and what asks whether a device runs the result.
_INTEGER_PASSES = ("mblt-check-target", "quant-check-target", "quant-materialize", "quant-verify", "quant-report")


@dataclass(frozen=True)
class QdqResult:
    """The file that was written, how many values and layers carry codes, and the notices of the quantization."""

    output: Path
    values: int
    layers: int
    notices: tuple[str, ...]


def write_qdq(source: Path, output: Path, options: CompileOptions | None = None) -> QdqResult:
    """Write a `.mblt` as QDQ ONNX: it is quantized with the settings of `options`, as for an executable.

    IR text whose rows are ranged (`quant-assign-ranges` ran, `quant-materialize` did not) is written as it is. Raises
    ArgumentError for other files, UNSUPPORTED_OP with the list of operations that have no QDQ form, and what
    quantization raises.
    """
    from qbc.export.onnx_mblt import write_export
    from qbc.export.onnx_qdq import export_qdq

    require_file(source)
    check_output(source, output, ".onnx")
    module, ctx = quantized(source, options or CompileOptions())
    form = float_form(module, ctx)
    write_export(export_qdq(form.function, ctx.store, form.encodings, form.weights, module.attributes), output)
    return QdqResult(output, len(form.encodings), len(form.weights), tuple(ctx.notices))


def quantized(source: Path, options: CompileOptions) -> tuple[ModuleOp, DriverContext]:
    """Return the ranged module of a file: quantized for it, or read."""
    suffix = source.suffix.lower()
    if suffix == ".mblt":
        return _quantize(source, options)
    if suffix != ".mlir":
        hint = "give a .mblt, or IR text of ranged quant functions; an .mxq holds integers without their scales"
        raise ArgumentError(f"{str(source)!r} cannot be written as QDQ ONNX", hint=hint)
    ctx = make_context()
    module = read_module(source, ctx)
    if "quant.ranged" not in present_levels(module):
        hint = (
            "give a .mblt, or text from after quant-assign-ranges and before quant-materialize, which leaves no scales"
        )
        raise ArgumentError(f"{str(source)!r} holds no ranged quant functions", hint=hint)
    _check_no_settings(source, options)
    return module, ctx


def _check_no_settings(source: Path, options: CompileOptions) -> None:
    """Refuse what only a quantization takes: the ranges of IR text are final."""
    given = {
        "calib_data_path": options.calibration is not None,
        "use_random_calib": options.random_calibration,
        "target_device": options.target is not None,
        "config_preset": options.preset is not None,
        "compile_config": options.compile_config is not None,
    }
    name = next((name for name, is_given in given.items() if is_given), None)
    if name is not None:
        raise ArgumentError(f"{name}: {str(source)!r} has its ranges already", hint="leave it out, or give a .mblt")


def _quantize(source: Path, options: CompileOptions) -> tuple[ModuleOp, DriverContext]:
    """Run the quantize phase without the passes that turn scales into integers."""
    pipeline = make_plan(options, ("quantize",)).pipelines["quantize"]
    for name in _INTEGER_PASSES:
        pipeline = without_pass(pipeline, name)
    with temporary_directory() as directory:
        shortened = replace(options, pipeline=str(pipeline))
        result = compile_model(source, directory / "ranged.mlir", shortened, to="quantize")
    return result.module, result.ctx


@dataclass(frozen=True)
class FloatForm:
    """The float function behind a ranged one, with the encodings of its values and weights.

    `values` gives the float value that each value of the ranged function stands for.
    """

    function: FuncOp
    encodings: Mapping[SSAValue, ActivationEncoding]
    weights: Mapping[Operation, WeightEncoding]
    values: Mapping[SSAValue, SSAValue]


def float_form(module: ModuleOp, ctx: DriverContext) -> FloatForm:
    """Return the float form of `@main` of a ranged module."""
    from qbc.dialects.quant import ParamTable, WeightedOp
    from qbc.passes.quant.lift import lift

    func, table = main_function(module), ParamTable(module)
    lifted = lift(func, keeps_requantize=True)
    encodings: dict[SSAValue, Any] = {}
    weights: dict[Operation, Any] = {}
    for op in func.body.block.ops:
        for value in op.results:
            encoding = _encoding(table, value, ctx)
            if encoding is not None:
                encodings[lifted.values[value]] = encoding
        if isinstance(op, WeightedOp):
            owner = lifted.values[op.results[0]].owner
            assert isinstance(owner, Operation)
            weights[owner] = _weight(op, table, ctx)
    return FloatForm(lifted.function, encodings, weights, lifted.values)


def _encoding(table: Any, value: SSAValue, ctx: DriverContext) -> ActivationEncoding | None:
    import numpy as np

    from qbc.export.onnx_qdq import ActivationEncoding
    from qbc.passes.base import array_of

    row = table.row_of(value)
    if row is None:
        return None
    if row.channel_scales is not None:
        scales = np.asarray(array_of(ctx, row.channel_scales), np.float32)
        return ActivationEncoding(row.bits, scales, row.channel_zero_point)
    if row.encoding is None:
        raise QBCompilerError(f"row {row.row_name!r} has no scale yet", code="VERIFY_ERROR")
    storage, scale, zero_point = row.encoding
    return ActivationEncoding(storage, np.array(scale, np.float32), zero_point)


def _weight(op: Any, table: Any, ctx: DriverContext) -> WeightEncoding:
    """Return the integers that `quant-materialize` would choose, with the bias free of the zero point of the input."""
    import numpy as np

    from qbc.export.onnx_qdq import WeightEncoding
    from qbc.passes.base import array_of
    from qbc.passes.quant.quant_materialize.weighted import channel_constants
    from qbc.passes.quant.quant_materialize.workspace import Encoding

    def read(name: str) -> Any:
        handle = op.properties.get(name)
        return None if handle is None else array_of(ctx, handle)

    x = Encoding(*table.encoding(op.operands[0]))
    weight = read("weight")
    bias = np.zeros(weight.shape[0], np.float64)
    for name in ("bias", "bias_delta"):
        part = read(name)
        bias = bias if part is None else bias + part.astype(np.float64)
    found = channel_constants(weight, bias, read("weight_scale"), x)
    sums = found.codes.reshape(found.codes.shape[0], -1).astype(np.int64).sum(axis=1)
    bias_scales = (found.scales.astype(np.float64) * x.scale).astype(np.float32)
    return WeightEncoding(found.codes, found.scales, found.bias + x.zero_point * sums, bias_scales)
