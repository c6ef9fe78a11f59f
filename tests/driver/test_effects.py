"""Every flag of compile, parse and quantize against every kind of input: it acts, it is told, or it is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qbcompiler.cli import main
from qbcompiler.demo import digits_model_path
from qbcompiler.parser import PHASE_NAMES, build_parser

INPUTS = ("source", "import", "convert", "mblt", "quantize", "lower")
QUANTIZED = ("quantize", "lower")  # inputs that are past the phase quantize

# Flags that act on a run whatever its input is; other tests look at what they do.
EVERY_INPUT = {
    *("--help", "--model", "--compile-from", "--mblt", "--output", "--compile-to", "--device", "--config-preset"),
    *("--print-pipeline", "--dump-ir", "--crash-reproducer", "--report", "--verify-each", "--timing"),
    *("--verbose", "--quiet"),
}

# Flag with a value -> what happens with each input: acts (A), is told (T) or is refused (R). With `--compile-config`
# the file sets one option of quantization, with `--pass-pipeline` the text holds the passes of all phases.
TABLE = {
    ("--backend", "onnx"): "ATTTTT",
    ("--input-shape", "image=1x1x16x16"): "RRRRRR",  # of the source too: the samples are 8x8
    ("--input-shape", "image=1x1x8x8"): "AAAAAR",
    ("--input-shape", "imag=1x1x8x8"): "RRRRRR",
    ("--no-cpu-offload",): "AAAAAA",
    ("--cpu-offload",): "RRRRRR",
    ("--calib-data-path", "{samples}"): "AAAATT",
    ("--calib-data-path", "/no/such/directory"): "RRRRTT",
    ("--use-random-calib",): "AAAATT",
    ("--no-use-random-calib",): "RRRRAA",  # there is no other data
    ("--inference-scheme", "multi"): "AAAAAR",
    ("--inference-scheme", "single"): "AAAAAA",
    ("--config-save-path", "{saved}"): "AAAATT",
    ("--target-device", "aries-rb"): "AAAAAA",
    ("--target-device", "regulus-ra"): "AAAAAR",
    ("--compile-config", "{config}"): "AAAATT",
    ("--strict-config",): "TTTTTT",  # there is no configuration
    ("--pass-pipeline", "{pipeline}"): "AATTTT",
}
WITH_DATA = ("--calib-data-path", "--use-random-calib", "--no-use-random-calib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one input of each kind, samples, a configuration and a whole pipeline text."""
    path = tmp_path_factory.mktemp("effects")
    (path / "samples").mkdir()
    random = np.random.default_rng(0)
    for index in range(2):
        np.save(path / "samples" / f"{index}.npy", random.random((1, 1, 8, 8), dtype=np.float32))
    (path / "config.yaml").write_text("calibration:\n  maxPercentile:\n    percentile: 0.99\n")
    model = ["--model", str(digits_model_path())]
    data = ["--calib-data-path", str(path / "samples")]
    for phase in PHASE_NAMES[:4]:
        more = data if phase in QUANTIZED else []
        assert main(["compile", *model, "--compile-to", phase, "--output", str(path / f"{phase}.mlir"), *more]) == 0
    assert main(["parse", *model, "--output", str(path / "mblt.mblt")]) == 0
    return path


def source_of(folder: Path, kind: str) -> str:
    if kind == "source":
        return str(digits_model_path())
    return str(folder / ("mblt.mblt" if kind == "mblt" else f"{kind}.mlir"))


def outcome(arguments: list[str], flag: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command; return R for an error, T for a notice that names the flag, A for neither."""
    capsys.readouterr()
    status = main(arguments)
    errors = capsys.readouterr().err
    assert "INTERNAL_ERROR" not in errors and "Traceback" not in errors
    if status != 0:
        return "R"
    name = flag.removeprefix("--").removeprefix("no-").replace("-", "_")
    said = {"compile_config": "calibration.maxPercentile.percentile without effect"}.get(name, name)
    told = [line for line in errors.splitlines() if line.startswith("notice:") and said in line]
    return "T" if any("effect" in line or "left out" in line for line in told) else "A"


@pytest.mark.parametrize("flags", list(TABLE), ids=" ".join)
def test_flags_of_compile(flags: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"samples": "samples", "saved": "saved.yaml", "config": "config.yaml"}
    named = {key: str(folder / name) for key, name in files.items()}
    if "{pipeline}" in flags:
        assert main(["compile", "--model", source_of(folder, "source"), "--print-pipeline"]) == 0
        named["pipeline"] = capsys.readouterr().out.strip()
    given = [named.get(part.strip("{}"), part) for part in flags]
    found = ""
    for kind in INPUTS:
        needs_data = kind not in QUANTIZED and flags[0] not in WITH_DATA
        data = ["--calib-data-path", str(folder / "samples")] if needs_data else []
        command = ["compile", "--compile-from", source_of(folder, kind), "--output", str(folder / "o.mxq")]
        found += outcome([*command, *given, *data], flags[0], capsys)
    assert found == TABLE[flags]


@pytest.mark.parametrize("command", ["compile", "parse", "quantize"])
def test_every_flag_is_looked_at(command: str) -> None:
    known = EVERY_INPUT | {flags[0] for flags in TABLE}
    parser = next(action for action in build_parser()._actions if action.choices).choices[command]  # type: ignore[index]
    assert parser.all_flags() <= known


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--calib-data-path", "/no"], "calib_data_path has no effect: the run ends before the phase quantize"),
        (["--use-random-calib"], "use_random_calib has no effect: the run ends before the phase quantize"),
        (["--config-save-path", "/no/x.yaml"], "config_save_path has no effect"),
        (["--inference-scheme", "multi"], "inferenceScheme without effect on this run"),
        (["--target-device", "aries-rb"], "target_device has no effect"),
        (["--config-preset", "yolo_640"], "preprocessing.pipeline"),
    ],
)
def test_a_run_that_ends_early(flags: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(folder / "early.mlir")
    assert (
        main(["compile", "--model", str(digits_model_path()), "--compile-to", "convert", "--output", output, *flags])
        == 0
    )
    assert said in capsys.readouterr().err


def test_presets_of_pictures_say_that_random_data_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", "--model", str(digits_model_path()), "--output", str(folder / "o.mxq")]
    assert main([*command, "--use-random-calib", "--config-preset", "yolo_640"]) == 0
    assert "random data are no pictures" in capsys.readouterr().err
    assert main([*command, "--use-random-calib"]) == 0
    assert "pictures" not in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "told"), [("npy", True), ("png", False)])
def test_presets_of_pictures_say_that_arrays_are_none(
    suffix: str, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    samples = tmp_path / "samples"
    samples.mkdir()
    random = np.random.default_rng(0)
    for index in range(2):
        pixels = random.integers(0, 256, (8, 8), dtype=np.uint8)
        if suffix == "npy":
            np.save(samples / f"{index}.npy", pixels[None, None])
        else:
            Image.fromarray(pixels).save(samples / f"{index}.png")
    config = tmp_path / "images.yaml"
    config.write_text(
        "imageChannels: 1\nuint8Input: {apply: true}\n"
        "preprocessing: {apply: true, pipeline: [{op: resize, height: 8, width: 8, backend: pil}]}\n"
    )
    command = ["compile", "--model", str(digits_model_path()), "--output", str(tmp_path / "o.mxq")]
    assert main([*command, "--calib-data-path", str(samples), "--compile-config", str(config)]) == 0
    errors = capsys.readouterr().err
    for key in ("preprocessing", "imageChannels"):
        line = f"{key} has no effect on the calibration: the samples are arrays, which are taken as they are"
        assert (line in errors) == told


def test_pixels_for_a_float_input_with_a_normalization(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The normalisation of pictures is not that of arrays: the notice says what those must hold."""
    np.save(folder / "pixels.npy", np.random.default_rng(0).integers(0, 256, (1, 8, 8, 1), np.uint8))
    config = folder / "normalize.yaml"
    config.write_text(
        "preprocessing: {apply: true, pipeline: [{op: normalize, mean: [0.5], std: [0.25], scaleToUint8: true}]}\n"
    )
    command = ["compile", "--model", str(digits_model_path()), "--output", str(folder / "normalize.mxq")]
    command += ["--calib-data-path", str(folder / "pixels.npy"), "--compile-config", str(config)]
    assert main(command) == 0
    errors = capsys.readouterr().err
    assert "are uint8; they are read as float32 unscaled (save them as the model takes them" in errors
    assert "what normalize does to pictures, (pixel / 255 - [0.5]) / [0.25], must have been done to the" in errors


def test_the_recorded_target_is_the_one_of_the_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that was lowered for a device goes on for it, and its file says so."""
    lowered = str(folder / "regulus.mlir")
    command = ["--target-device", "regulus-ra", "--use-random-calib", "--compile-to", "lower", "--output", lowered]
    assert main(["compile", "--model", str(digits_model_path()), *command]) == 0
    output = str(folder / "regulus.mxq")
    assert main(["compile", "--compile-from", lowered, "--output", output]) == 0
    assert "target device regulus-ra comes from" in capsys.readouterr().err
    assert main(["info", output]) == 0
    shown = capsys.readouterr().out
    assert "regulus-ra" in shown and "aries" not in shown
    assert main(["compile", "--compile-from", lowered, "--output", output, "--target-device", "aries-rb"]) == 1
    assert "'regulus.mlir' is lowered for 'regulus-ra'" in capsys.readouterr().err.replace(str(folder) + "/", "")


def test_all_modes_of_a_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lowered, output = str(folder / "modes.mlir"), str(folder / "modes.mxq")
    source = ["--model", str(digits_model_path()), "--use-random-calib", "--target-device", "aries-rb"]
    assert main(["compile", *source, "--inference-scheme", "all", "--compile-to", "lower", "--output", lowered]) == 0
    again = ["compile", "--compile-from", lowered, "--output", output]
    assert main([*again, "--inference-scheme", "all"]) == 0
    assert main([*again, "--inference-scheme", "multi"]) == 1
    assert "is lowered for single, multi, global4, global8 already" in capsys.readouterr().err


# --- phases of parse and quantize --------------------------------------------------------------------------------


def test_parse_stops_and_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`parse` in two steps gives the graph that it gives in one."""
    first, second, whole = (str(folder / name) for name in ("p1.mlir", "p2.mlir", "p.mlir"))
    model = ["--model", str(digits_model_path())]
    assert main(["parse", *model, "--compile-to", "import", "--output", first]) == 0
    assert "framework.Conv" in Path(first).read_text()
    assert main(["parse", "--compile-from", first, "--output", second]) == 0
    assert main(["parse", *model, "--output", whole]) == 0
    assert Path(second).read_text() == Path(whole).read_text()
    assert main(["parse", *model, "--compile-to", "quantize", "--output", first]) == 1
    assert "invalid choice: 'quantize'" in capsys.readouterr().err


def test_quantize_stops_and_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`quantize` from phase to phase gives the program that it gives in one run."""
    data = ["--calib-data-path", str(folder / "samples")]
    step, whole = str(folder / "q.mlir"), str(folder / "whole.mlir")
    mblt = source_of(folder, "mblt")
    assert main(["quantize", "--mblt", mblt, "--compile-to", "quantize", "--output", step, *data]) == 0
    lowered = str(folder / "ql.mlir")
    assert main(["quantize", "--compile-from", step, "--compile-to", "lower", "--output", lowered]) == 0
    assert main(["quantize", "--mblt", mblt, "--compile-to", "lower", "--output", whole, *data]) == 0
    assert Path(lowered).read_text() == Path(whole).read_text()
    assert main(["quantize", "--mblt", source_of(folder, "import"), "--output", str(folder / "o.mxq"), *data]) == 1
    assert "is not parsed yet" in capsys.readouterr().err
    assert main(["quantize", "--mblt", mblt, "--print-pipeline", "--compile-to", "quantize"]) == 0
    shown = capsys.readouterr().out
    assert "quant-report" in shown and "npu-emit" not in shown


def test_quiet_and_verbose_exclude_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["parse", "--model", str(digits_model_path()), "--output", str(folder / "o.mblt")]
    assert main([*command, "--quiet", "--verbose"]) == 1
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compile", "parse", "quantize"])
def test_two_inputs_are_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = "--mblt" if command == "quantize" else "--model"
    assert main([command, first, "a", "--compile-from", "b", "--output", "c"]) == 1
    assert "--compile-from b: the input is a already" in capsys.readouterr().err


def test_validate_refuses_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--model", str(digits_model_path()), "--cpu-offload"]) == 1
    assert "UNSUPPORTED_FEATURE" in capsys.readouterr().err
    assert main(["validate", "--model", str(digits_model_path()), "--no-cpu-offload"]) == 0


def test_only_settings_that_were_taken_are_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a program was not made with does not stand in its record; the device does."""
    output = str(folder / "recorded.mxq")
    config = ["--compile-config", str(folder / "config.yaml")]
    command = ["compile", "--output", output, *config, "--target-device", "aries-rb", "--inference-scheme", "multi"]
    assert main([*command, "--compile-from", source_of(folder, "quantize")]) == 0
    capsys.readouterr()
    assert main(["info", output]) == 0
    shown = capsys.readouterr().out
    assert "inferenceScheme = 'multi'" in shown and "percentile = 0.99" not in shown
    assert "aries-rb (digest of its facts:" in shown
    assert main([*command, "--compile-from", source_of(folder, "mblt"), "--calib-data-path", f"{folder}/samples"]) == 0
    capsys.readouterr()
    assert main(["info", output]) == 0
    assert "percentile = 0.99" in capsys.readouterr().out


def test_a_recorded_target_that_is_not_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, lowered = folder / "mine.yaml", folder / "mine.mlir"
    target.write_text("extends: regulus-ra.yaml\nname: mine\n")
    source = ["--model", str(digits_model_path()), "--use-random-calib", "--target-device", str(target)]
    assert main(["compile", *source, "--compile-to", "lower", "--output", str(lowered)]) == 0
    again = ["compile", "--compile-from", str(lowered), "--output", str(folder / "mine.mxq")]
    assert main(again) == 1
    assert "is lowered for 'mine', which is no device known here" in capsys.readouterr().err
    assert main([*again, "--target-device", str(target), "--inference-scheme", "all"]) == 0
