"""What the sections uint8Input and preprocessing put in front of the quantize phase."""

from __future__ import annotations

from typing import Any

import pytest

from qbc.driver.plan import CompileOptions, Plan, make_plan
from qbc.pipelines.grammar import PassCall

LETTERBOX = {
    "op": "letterbox",
    "height": 32,
    "width": 40,
    "sourceHeight": 96,
    "sourceWidth": 120,
    "padValue": 7,
    "alignType": 1,
    "fuseIntoFirstLayer": True,
}
NORMALIZE = {"op": "normalize", "mean": [0.5], "std": [0.25], "fuseIntoFirstLayer": True}
RESIZE = {"op": "resize", "size": 32}


def planned(**sections: Any) -> Plan:
    return make_plan(CompileOptions(compile_config=sections))


def calls(plan: Plan) -> list[PassCall]:
    names = ("mblt-uint8-inputs", "mblt-fuse-normalize", "mblt-fuse-letterbox")
    return [call for call in plan.pipelines["quantize"].calls() if call.name in names]


def test_the_last_operation_is_fused_first() -> None:
    section = {"apply": True, "pipeline": [RESIZE, LETTERBOX, NORMALIZE]}
    uint8, normalize, letterbox = calls(planned(uint8Input={"apply": True}, preprocessing=section))
    assert (uint8.name, normalize.name, letterbox.name) == (
        ("mblt-uint8-inputs", "mblt-fuse-normalize", "mblt-fuse-letterbox")
    )
    options = dict(letterbox.options)
    assert [options[name] for name in ("height", "width", "source-height", "source-width")] == [32, 40, 96, 120]
    assert options["pad-value"] == 7 and options["centered"] is False
    assert dict(normalize.options)["scale"] == 1.0


def test_inputs_with_a_pipeline_of_their_own() -> None:
    section = {"apply": True, "pipeline": [NORMALIZE], "inputConfigs": {"left": {"pipeline": [LETTERBOX]}}}
    left, others = (dict(call.options) for call in calls(planned(preprocessing=section)))
    assert left["inputs"] == ("left",) and others["exclude"] == ("left",)


@pytest.mark.parametrize(
    "section",
    [{"pipeline": [RESIZE, NORMALIZE]}, {"apply": False, "inputConfigs": {"x": {"pipeline": [LETTERBOX]}}}],
)
def test_a_pipeline_that_is_off_is_told(section: dict[str, Any]) -> None:
    plan = planned(preprocessing=section)
    assert calls(plan) == [] and any("(its section is switched off by apply)" in notice for notice in plan.notices)
    plan = planned(preprocessing={**section, "apply": True})
    assert calls(plan) and not any("preprocessing" in notice for notice in plan.notices)
    assert not any("preprocessing" in notice for notice in planned(preprocessing={"apply": False}).notices)
