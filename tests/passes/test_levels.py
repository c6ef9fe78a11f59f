"""Every pass on a module of every level: it works, or it says with a documented error why not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

from qbc.driver.context import DriverContext, make_context
from qbc.driver.samples import BoundSamples
from qbc.errors import QBCompilerError
from qbc.frontends.onnx import import_onnx
from qbc.passes.base import Pass
from qbc.passes.levels import LEVELS, present_levels
from qbc.pipelines.grammar import PassCall, Pipeline, parse_pipeline
from qbc.pipelines.phases import load_preset
from qbc.pipelines.registry import all_passes
from qbc.pipelines.runner import run_pipeline, steps_of
from qbc.targets import load_target
from tests.robustness.zoo import write_zoo

ENDS = {
    "framework": "framework-eliminate-dead",
    "mblt": "cse",
    "quant.created": "quant-assign-bits",
    "quant.collected": "quant-group-scales",
    "quant.ranged": "quant-bias-correction",
    "quant.materialized": "quant-report",
    "npu.values": "npu-assign-order",
    "npu.buffers": "npu-assign-buffers",
    "npu.placed": "npu-assign-core",
    "emitted": "npu-emit",
}
OPTIONS = {"mblt-add-outputs": (("layers", ("stem",)),)}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[ModuleOp, DriverContext]]:
    """One model at every level, on one core and on several."""
    path = write_zoo(tmp_path_factory.mktemp("levels") / "zoo.onnx")
    found = _modules(path, "single")
    for mode in ("global4", "multi"):
        several = _modules(path, mode)
        found.update({f"{level} {mode}": several[level] for level in ("npu.placed", "emitted")})
    return found


def _modules(path: Path, mode: str) -> dict[str, tuple[ModuleOp, DriverContext]]:
    ctx = make_context()
    ctx.target = load_target("aries-rb")
    module = import_onnx(path, ctx.store, input_shapes={})
    whole = Pipeline()
    for phase in ("import", "convert", "quantize", "lower", "encode"):
        whole = whole + load_preset("default").pipeline(phase)
    steps = steps_of(parse_pipeline(str(whole).replace("npu-assign-mode", f"npu-assign-mode{{mode={mode}}}")))
    last = {name: max(step.index for step in steps if step.name == end) for name, end in ENDS.items()}
    found = {}
    for step in steps:
        if step.name == "convert-mblt-to-quant":
            ctx.samples = BoundSamples(None, module, ctx)
        run_pipeline(module, Pipeline((step.call,)), ctx)
        found.update({name: (module.clone(), ctx) for name, index in last.items() if index == step.index})
    return found


@cache
def _passes() -> list[type[Pass]]:
    return list(all_passes())


def _run(cls: type[Pass], module: ModuleOp, ctx: DriverContext) -> QBCompilerError | None:
    call = PassCall(cls.name, OPTIONS.get(cls.name, ()))
    fresh = make_context(store=ctx.store)
    fresh.target, fresh.samples, fresh.report = ctx.target, ctx.samples, dict(ctx.report)
    try:
        run_pipeline(module.clone(), Pipeline((call,)), fresh, verify_each=True)
    except QBCompilerError as error:
        return error
    return None


@pytest.mark.parametrize("cls", _passes(), ids=lambda cls: cls.name)
def test_a_pass_works_on_a_level_or_refuses_it(
    cls: type[Pass], modules: dict[str, tuple[ModuleOp, DriverContext]]
) -> None:
    for level, (module, ctx) in modules.items():
        error = _run(cls, module, ctx)
        assert error is None or error.code != "INTERNAL_ERROR", f"on {level}: {error}"


@pytest.mark.parametrize("cls", [cls for cls in _passes() if cls.needs], ids=lambda cls: cls.name)
def test_a_pass_for_a_dialect_refuses_all_others(
    cls: type[Pass], modules: dict[str, tuple[ModuleOp, DriverContext]]
) -> None:
    for level, (module, ctx) in modules.items():
        if present_levels(module) & set(cls.needs):
            continue
        error = _run(cls, module, ctx)
        assert error is not None and error.code == "PIPELINE_ERROR", f"on {level}: {error}"
        assert error.operation is not None and error.hint
        assert error.pass_name == cls.name


def test_needs_are_known_levels_or_dialects() -> None:
    known = {*LEVELS, "quant", "npu"}
    for cls in _passes():
        assert set(cls.needs) <= known, cls.name
        assert cls.needs or cls.name in ("canonicalize", "cse", "symbol-dce"), cls.name


def test_levels_are_told_apart(modules: dict[str, tuple[ModuleOp, DriverContext]]) -> None:
    for level in (
        "framework",
        "mblt",
        "quant.created",
        "quant.ranged",
        "quant.materialized",
        "npu.values",
        "npu.buffers",
    ):
        assert level in present_levels(modules[level][0])
    assert "quant.ranged" not in present_levels(modules["quant.collected"][0])
    assert "quant.created" not in present_levels(modules["quant.materialized"][0])
    assert "npu.values" not in present_levels(modules["npu.buffers"][0])


def test_a_graph_of_integers_alone_passes_the_whole_pipeline(tmp_path: Path) -> None:
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    x, y = (helper.make_tensor_value_info(n, TensorProto.INT32, s) for n, s in (("x", [2, 3]), ("y", [3, 2])))
    path = tmp_path / "integers.onnx"
    onnx.save(
        helper.make_model(helper.make_graph([node], "integers", [x], [y]), opset_imports=[helper.make_opsetid("", 17)]),
        path,
    )
    assert "npu.placed" in _modules(path, "single")


def test_cores_are_assigned_once(modules: dict[str, tuple[ModuleOp, DriverContext]]) -> None:
    for mode in ("global4", "multi"):
        module, ctx = modules[f"npu.placed {mode}"]
        with pytest.raises(QBCompilerError, match="has its cores already"):
            run_pipeline(module.clone(), parse_pipeline("npu-assign-core"), ctx)
