"""Options of passes are checked where the text is resolved: before anything runs, also by `--print-pipeline`."""

from __future__ import annotations

import pytest

from qbc.driver.opt import main
from qbc.errors import QBCompilerError
from qbc.pipelines.grammar import PassCall, parse_pipeline
from qbc.pipelines.registry import all_passes, complete, option_infos

NUMBERS = [
    (cls.name, info.name, info.type_text)
    for cls in all_passes()
    for info in option_infos(cls)
    if info.type_text in ("int", "float")
]

SIGNED = ("sqnr",)  # in dB


def _refused(text: str) -> QBCompilerError:
    with pytest.raises(QBCompilerError) as caught:
        complete(parse_pipeline(text))
    return caught.value


@pytest.mark.parametrize("name, option, kind", NUMBERS, ids=[f"{name}-{option}" for name, option, _ in NUMBERS])
def test_no_number_is_without_bounds(name: str, option: str, kind: str) -> None:
    """Counts, ratios, modes and methods are never negative, and no number is infinite."""
    if option not in SIGNED:
        assert _refused(str(PassCall(name, ((option, -1),)))).code == "PIPELINE_ERROR"
    if kind == "float":
        assert _refused(f"{name}{{{option}=inf}}").code == "PIPELINE_ERROR"


@pytest.mark.parametrize(
    "text, message",
    [
        ("quant-assign-ranges{mode=99}", "mode is 99, it must be one of 0, 1, 2"),
        ("quant-assign-ranges{method=4}", "method is 4"),
        ("quant-assign-ranges{percentile=0.5}", "percentile is 0.5, it must be above 0.5 and at most 1"),
        ("quant-group-scales{tie-ratio=0.9}", "tie-ratio is 0.9, it must be at least 1"),
        ("quant-group-scales{method=4}", "method is 4"),
        ("quant-output-scales{output=3}", "output is 3"),
        ("quant-output-scales{method=4}", "method is 4"),
        ("quant-report{samples=0}", "samples is 0, it must be at least 1"),
        ("convert-mblt-to-quant{method=4}", "method is 4, it must be one of 0, 1, 2, 3"),
        ("quant-assign-bits{preset=w2a2}", "preset is 'w2a2', it must be one of w8a8, w8a16"),
        ("quant-bias-correction{target=input}", "target is 'input', it must be weight"),
        ("quant-verify{level=nice}", "level is 'nice', it must be one of created, ranged, materialized, auto"),
        ("npu-assign-mode{mode=fast}", "mode is 'fast', it must be one of single"),
        ("mblt-fuse-normalize{std=[]}", "mean and std need a value"),
        ("mblt-fuse-normalize{mean=inf}", "must be finite"),
        ("mblt-fuse-normalize{std=0}", "std and scale must be positive"),
    ],
)
def test_wrong_values_are_named(text: str, message: str) -> None:
    error = _refused(text)
    assert error.code == "PIPELINE_ERROR" and message in error.message


def test_a_preset_of_a_later_release_is_refused_by_name() -> None:
    assert _refused("quant-assign-bits{preset=w4a8}").code == "UNSUPPORTED_FEATURE"


@pytest.mark.parametrize("text", ["quant-assign-ranges{mode=-1}", "quant-assign-bits{preset=w4a8}"])
def test_printing_a_pipeline_checks_it(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-pipeline", "-p", text]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error[") and not captured.out
