"""The distribution that docs/extending.md shows: built from the page and installed, it adds a part of each kind."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from qbc.driver.opt import main as qbc_opt
from qbc.extensions import GROUPS
from qbc.pipelines import registry
from qbcompiler.cli import main as qbcompiler

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text()
FILES: dict[str, str] = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)```", PAGE, re.DOTALL))
INPUTS = ("model.mlir", "acme.yaml", "model.acme")  # beside the distribution, not in it
DOUBLED = FILES["model.mlir"]
BROKEN = """
from dataclasses import dataclass
from pathlib import Path
from xdsl.ir import Dialect
from qbc.frontends import Frontend
from qbc.passes.base import FunctionPass, ModulePass

def fail(request):
    raise KeyError("boom")

def leave(request):
    raise SystemExit(0)

LEAVING = Frontend((".leaves",), leave)
FRONTEND, LOST, NOTHING = Frontend((".fails",), fail), Path("/no/such.yaml"), 5
OTHER, STRAY = Dialect("other", [], []), Path(__file__).with_name("stray.yaml")

@dataclass(frozen=True)
class Crash(ModulePass):
    name = "acme-crash"
    def run(self, op, ctx):
        raise KeyError("boom")

@dataclass(frozen=True)
class Leave(ModulePass):
    name = "acme-leave"
    def run(self, op, ctx):
        raise SystemExit(0)

@dataclass(frozen=True)
class LeaveEarly(ModulePass):
    name = "acme-leave-early"
    def __post_init__(self):
        raise SystemExit(0)
    def run(self, op, ctx):
        pass

@dataclass(frozen=True)
class NoRun(FunctionPass):
    name = "acme-no-run"
"""
BROKEN_POINTS = {
    "qbcompiler.passes": {
        "acme-crash": "acme_broken:Crash",
        "acme-leave": "acme_broken:Leave",
        "acme-leave-early": "acme_broken:LeaveEarly",
        "acme-leave-import": "acme_leaves:Leave",
        "acme-no-run": "acme_broken:NoRun",
        "acme-number": "acme_broken:NOTHING",
        "acme-other-name": "acme_broken:Crash",
        "acme-absent": "acme_broken:Absent",
        "acme-no-module": "acme_no_module:Absent",
        "acme-twice": "acme_broken:Crash",
        "cse": "acme_broken:Crash",
    },
    "qbcompiler.dialects": {"acme_number": "acme_broken:NOTHING", "acme_other": "acme_broken:OTHER"},
    "qbcompiler.targets": {
        "acme-lost": "acme_broken:LOST",
        "acme-number": "acme_broken:NOTHING",
        "acme-stray": "acme_broken:STRAY",
        "aries": "acme_broken:STRAY",
    },
    "qbcompiler.frontends": {
        "acme-fails": "acme_broken:FRONTEND",
        "acme-leaves": "acme_broken:LEAVING",
        "acme-number": "acme_broken:NOTHING",
    },
}


def install(site: Path, name: str, points: Mapping[str, Mapping[str, str]], files: Mapping[str, str]) -> None:
    """Leave what an installed distribution leaves: its modules and its metadata."""
    for file, text in files.items():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    metadata = site / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [line for group, entries in points.items() for line in (f"[{group}]", *map(" = ".join, entries.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of packages, on the path for one test."""
    path = tmp_path / "site"
    path.mkdir()
    monkeypatch.syspath_prepend(path)
    monkeypatch.chdir(tmp_path)
    registry.pass_class.cache_clear()
    yield path
    registry.pass_class.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("acme_qbc", "acme_broken")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip builds from the files of the page."""
    source = tmp_path_factory.mktemp("acme")
    for name in FILES.keys() - set(INPUTS):
        path = source / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FILES[name])
    (source / "acme_qbc" / "__init__.py").touch()
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q", "."]
    subprocess.run([*command, "-w", "dist"], cwd=source, check=True)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture
def acme(site: Path, tmp_path: Path, wheel: Path) -> Path:
    """The distribution of the page, installed, and a working folder."""
    assert set(tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]) == set(GROUPS.values())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)  # what pip does with a wheel of plain modules
    for name in INPUTS:
        (tmp_path / name).write_text(FILES[name])
    return tmp_path


def test_lists_know_the_parts(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert qbc_opt(["--list-passes"]) == 0
    listed = capsys.readouterr().out
    assert "acme-expand-double  (func.func, of acme-qbc 1.0)\n    Replace acme.double by an addition." in listed
    assert qbc_opt(["--show-dialects"]) == 0
    assert capsys.readouterr().out.split()[-1] == "acme"
    assert qbcompiler(["target", "list"]) == 0
    assert capsys.readouterr().out.split()[-1] == "acme-one"
    assert qbcompiler(["check"]) == 0
    shown = capsys.readouterr().out
    assert "backends: onnx, acme\n" in shown and "problems: none\n" in shown
    assert "pass 'acme-expand-double' of acme-qbc 1.0, dialect 'acme' of acme-qbc 1.0" in shown


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["qbc-opt", "model.mlir", "--pass-pipeline", "acme-expand-duoble"], "acme-expand-double"),
        (["qbc-opt", "model.mlir", "--target-device", "acme-on"], "acme-one"),
        (["qbcompiler", "validate", "--model", "model.acme", "--backend", "acm"], "acme"),
    ],
)
def test_wrong_names_are_corrected(
    acme: Path, arguments: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = {"qbc-opt": qbc_opt, "qbcompiler": qbcompiler}[arguments[0]]
    assert command(arguments[1:]) == 1
    assert f"did you mean {near!r}?" in capsys.readouterr().err


def test_operation_and_pass(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The operation is read in both forms, verified, kept in a snapshot, and expanded by its pass."""
    assert qbc_opt(["model.mlir", "--print-op-generic", "-o", "generic.mlir"]) == 0
    assert '"acme.double"' in Path("generic.mlir").read_text()
    assert qbc_opt(["generic.mlir", "--pass-pipeline", "acme-expand-double"]) == 0
    assert "mblt.add %x, %x" in capsys.readouterr().out
    wrong = DOUBLED.replace("-> tensor<1x8x8x3xf32> loc", "-> tensor<4xf32> loc").replace("return %y", "return %x")
    Path("wrong.mlir").write_text(wrong)
    assert qbc_opt(["wrong.mlir"]) == 1
    assert "needs a result of the type of its operand" in capsys.readouterr().err


def test_operation_in_a_snapshot(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = re.sub(r"mblt\.name", "framework.name", DOUBLED.replace(', mblt.source_layout = "nchw"', ""))
    relu = '  %r = framework.Relu(%x) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32> loc("relu")\n'
    head, _, rest = text.partition("\n")
    Path("source.mlir").write_text(f"{head}\n{relu}{rest.replace('acme.double %x', 'acme.double %r')}")
    assert qbcompiler(["parse", "--compile-from", "source.mlir", "--output", "model.mblt"]) == 0
    assert qbc_opt(["model.mblt"]) == 0
    assert "acme.double" in capsys.readouterr().out
    assert qbcompiler(["quantize", "--mblt", "model.mblt", "--output", "o.mxq", "--use-random-calib"]) == 1
    assert "[UNSUPPORTED_OP]" in capsys.readouterr().err


def test_names_of_operations(acme: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong names are corrected; without the package its files say what they lack."""
    for wrong, near in (("acme.doubel", "acme.double"), ("acm.double", "acme")):
        Path("wrong.mlir").write_text(DOUBLED.replace("acme.double", wrong))
        assert qbc_opt(["wrong.mlir"]) == 1
        assert f"Operation {wrong} is not registered (did you mean {near!r}?)" in capsys.readouterr().err
    name = 'framework.name = "x"'
    source = f"func.func @main(%x: tensor<4xf32> {{{name}}}) -> (tensor<4xf32> {{{name}}}) {{\n"
    relu = "%r = framework.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
    double = "%y = acme.double %r : tensor<4xf32> -> tensor<4xf32>\n"
    Path("source.mlir").write_text(f"{source}{relu}{double}func.return %y : tensor<4xf32>\n}}\n")
    assert qbcompiler(["parse", "--compile-from", "source.mlir", "--output", "model.mblt"]) == 0
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("site")])
    for file in ("model.mlir", "model.mblt"):
        assert qbc_opt([file]) == 1
        assert "no installed package has the dialect 'acme'" in capsys.readouterr().err


def test_a_preset_runs_the_pass(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from qbc.pipelines.grammar import parse_pipeline
    from qbc.pipelines.phases import load_preset

    own, default = load_preset("acme.yaml"), load_preset("default")
    expected = parse_pipeline(f"func.func(acme-expand-double),{default.pipelines['quantize']}")
    assert own.pipeline("quantize") == expected  # the page repeats the pipeline as it is
    np.save("samples.npy", np.linspace(-1, 1, 4 * 192, dtype=np.float32).reshape(4, 1, 3, 8, 8))
    command = ["compile", "--compile-from", "model.mlir", "--output", "o.mxq", "--target-device", "acme-one"]
    assert qbcompiler([*command, "--calib-data-path", "samples.npy", "--config-preset", "acme.yaml"]) == 0
    x = np.load("samples.npy")[2]
    np.save("x.npy", x)
    assert qbcompiler(["run", "--mxq", "o.mxq", "--input", "x.npy", "--output-dir", "."]) == 0
    assert np.abs(np.load("y.npy") - 2 * x).max() <= 2 / 127  # one step of the scale of the output
    assert qbcompiler(["info", "o.mxq"]) == 0
    assert "acme-one" in capsys.readouterr().out


def test_target(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert qbcompiler(["target", "show", "acme-one"]) == 0
    shown = capsys.readouterr().out
    assert "acme-one" in shown and re.search(r"l2\.bytes +2097152 +assumed +the board has twice the memory", shown)


def test_frontend(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The frontend is found by its suffix and by its name; shapes reach it, and its errors are those of the model."""
    from qbcompiler import mxq_compile

    assert qbcompiler(["parse", "--model", "model.acme", "--output", "a.mblt", "--input-shape", "x=1x3x4x4"]) == 0
    assert qbcompiler(["parse", "--model", "model.acme", "--output", "b.mblt", "--backend", "acme"]) == 0
    assert qbc_opt(["a.mblt"]) == 0 and "1x3x4x4" in capsys.readouterr().out
    assert qbcompiler(["info", "b.mblt", "--check-source", "model.acme"]) == 0
    assert qbcompiler(["validate", "--model", "model.acme"]) == 0
    assert qbc_opt(["model.acme"]) == 0 and "framework.Tanh" in capsys.readouterr().out
    result = mxq_compile("model.acme", save_path="a.mxq", use_random_calib=True, backend="acme")
    assert result.manifest.provenance["source"]["format"] == "acme"
    Path("bad.acme").write_text("1x3x8x8 Relu Tan")
    assert qbcompiler(["validate", "--model", "bad.acme"]) == 1
    assert "ERROR [INVALID_MODEL]: unknown operator 'Tan'" in capsys.readouterr().err
    assert qbcompiler(["validate", "--model", "model.acme", "--backend", "onnx"]) == 1
    assert "no suffix of a model that backend 'onnx' reads" in capsys.readouterr().err


# --- parts that fail ---------------------------------------------------------------------------------------------


@pytest.fixture
def broken(site: Path, tmp_path: Path) -> Path:
    stray = "extends: regulus-ra.yaml\nname: elsewhere\n"
    install(
        site,
        "acme-broken",
        BROKEN_POINTS,
        {"acme_broken.py": BROKEN, "acme_leaves.py": "raise SystemExit(0)\n", "stray.yaml": stray},
    )
    install(site, "acme-rival", {"qbcompiler.passes": {"acme-twice": "acme_broken:Crash"}}, {})
    (tmp_path / "x.mlir").write_text('"acme_number.op"() : () -> ()\n')
    (tmp_path / "y.mlir").write_text('"acme_other.op"() : () -> ()\n')
    (tmp_path / "z.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    (tmp_path / "model.fails").write_text("")
    (tmp_path / "model.leaves").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("qbc-opt z.mlir -p acme-crash", "pass 'acme-crash' of acme-broken 1.0 failed: KeyError: 'boom'"),
        ("qbc-opt z.mlir -p acme-leave", "pass 'acme-leave' of acme-broken 1.0 failed: SystemExit: 0"),
        ("qbc-opt z.mlir -p acme-leave-early", "pass 'acme-leave-early' of acme-broken 1.0 failed: SystemExit: 0"),
        ("qbc-opt z.mlir -p acme-leave-import", "of acme-broken 1.0 cannot be loaded: SystemExit: 0"),
        ("qbcompiler validate --model model.leaves --backend acme-leaves", "'acme-leaves' of acme-broken 1.0 failed"),
        ("qbc-opt z.mlir -p acme-no-run", "pass 'acme-no-run' of acme-broken 1.0 is not complete"),
        ("qbc-opt z.mlir -p acme-number", "pass 'acme-number' of acme-broken 1.0 is not a pass class"),
        ("qbc-opt z.mlir -p acme-other-name", "calls itself 'acme-crash'"),
        ("qbc-opt z.mlir -p acme-absent", "cannot be loaded: AttributeError"),
        ("qbc-opt z.mlir -p acme-no-module", "cannot be loaded: ModuleNotFoundError: No module named 'acme_no_module'"),
        ("qbc-opt z.mlir -p acme-twice", "of acme-broken 1.0 has the name of the pass 'acme-twice' of acme-rival 1.0"),
        ("qbc-opt x.mlir", "dialect 'acme_number' of acme-broken 1.0 is not an xdsl.ir.Dialect"),
        ("qbc-opt y.mlir", "dialect 'acme_other' of acme-broken 1.0 holds 'other'"),
        ("qbc-opt z.mlir --target-device acme-lost", "target 'acme-lost' of acme-broken 1.0 cannot be loaded: target"),
        ("qbc-opt z.mlir --target-device acme-number", "is not the path of a target file"),
        (
            "qbc-opt z.mlir --target-device acme-stray",
            "target 'acme-stray' of acme-broken 1.0 calls itself 'elsewhere'",
        ),
        ("qbcompiler validate --model model.fails --backend acme-number", "is not a qbc.frontends.Frontend"),
        ("qbcompiler validate --model model.fails --backend acme-fails", "'acme-fails' of acme-broken 1.0 failed"),
    ],
)
def test_a_broken_part_is_one_error(
    broken: Path, arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = arguments.split()
    assert {"qbc-opt": qbc_opt, "qbcompiler": qbcompiler}[name](rest) == 1
    errors = capsys.readouterr().err
    assert errors.lower().count("error[") + errors.lower().count("error [") == 1
    assert "[EXTENSION_ERROR]" in errors and said in errors and "mend or remove acme-broken 1.0" in errors


def test_broken_parts_do_not_hide_the_others(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert qbc_opt(["--list-passes"]) == 0
    listed = capsys.readouterr().out
    assert "acme-crash  (builtin.module, of acme-broken 1.0)" in listed and "canonicalize  (" in listed
    assert (
        "acme-no-module  (of acme-broken 1.0)\n    pass 'acme-no-module' of acme-broken 1.0 cannot be loaded" in listed
    )
    assert listed.count("\ncse  (") == 1
    assert qbc_opt(["z.mlir", "-p", "cse", "--target-device", "aries"]) == 0
    assert "aries-rb" in capsys.readouterr().err
    assert qbcompiler(["check"]) == 0
    shown = capsys.readouterr().out
    assert "pass 'cse' of acme-broken 1.0 is never used: that name is one of qbcompiler" in shown
    assert "target 'aries' of acme-broken 1.0 is never used" in shown
    assert "pass 'acme-twice' of acme-broken 1.0 has the name of" in shown
    assert "frontend 'acme-number' of acme-broken 1.0 is not a qbc.frontends.Frontend" in shown


def test_a_crash_reproducer_of_a_foreign_pass(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert qbc_opt(["z.mlir", "-p", "cse,acme-crash", "--crash-reproducer", "crash.mlir"]) == 1
    assert "acme-crash" in Path("crash.mlir").read_text().splitlines()[0]
