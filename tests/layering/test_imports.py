"""Who may import whom: the contracts cover every module, say what docs/architecture.md says, and catch violations."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
SERVING = {path.stem for path in (ROOT / "qbc").glob("*.py")} - {"__init__"}  # modules beside the folders
LINT = str(Path(sys.executable).with_name("lint-imports"))

# File -> a line that must not stand in it, at its end and inside a function in turn.
PLANTS = {
    "qbc/errors.py": "import qbc.atomic",
    "qbc/atomic.py": "import numpy",
    "qbc/extensions.py": "import qbc.driver.context",
    "qbc/modes.py": "import qbc.targets",
    "qbc/structured_text.py": "import qbc.config",
    "qbc/store/store.py": "import torch",
    "qbc/store/container.py": "import qbc.dialects.blob",
    "qbc/dialects/blob/handles.py": "import qbc.dialects.mblt",
    "qbc/dialects/common/graph.py": "import qbc.dialects.quant",
    "qbc/dialects/common/shapes.py": "import numpy",
    "qbc/dialects/framework/access.py": "import qbc.dialects.mblt",
    "qbc/dialects/framework/base.py": "import onnxruntime",
    "qbc/dialects/mblt/activation.py": "import qbc.dialects.quant",
    "qbc/dialects/mblt/pooling.py": "import onnx",
    "qbc/dialects/quant/table.py": "import qbc.dialects.mblt",
    "qbc/dialects/npu/program.py": "import qbc.program",
    "qbc/frontends/onnx/build.py": "import qbc.dialects.mblt",
    "qbc/frontends/registry.py": "import torch",
    "qbc/export/onnx.py": "import qbc.passes.base",
    "qbc/export/onnx_mblt.py": "import torch",
    "qbc/kernels/pooling.py": "import xdsl.ir",
    "qbc/kernels/blocks.py": "import qbc.store",
    "qbc/execute/memory.py": "import qbc.passes.base",
    "qbc/execute/inputs.py": "import numba",
    "qbc/algorithms/ranges.py": "import xdsl.ir",
    "qbc/algorithms/tables.py": "import qbc.dialects.quant",
    "qbc/calibration/arrays.py": "import xdsl.ir",
    "qbc/calibration/images.py": "import qbc.config",
    "qbc/passes/base.py": "import qbc.pipelines.runner",
    "qbc/passes/levels.py": "import torch",
    "qbc/passes/layer_names.py": "import qbc.config",
    "qbc/pipelines/runner.py": "import qbc.passes.mblt.mblt_fold_batch_norm",
    "qbc/pipelines/grammar.py": "import numpy",
    "qbc/targets/latency.py": "import qbc.program",
    "qbc/targets/model.py": "import numpy",
    "qbc/config/model.py": "import qbc.driver.plan",
    "qbc/config/files.py": "import torch",
    "qbc/program/records.py": "import xdsl.ir",
    "qbc/program/opcodes.py": "import qbc.kernels",
    "qbc/artifact/mxq.py": "import qbc.runtime",
    "qbc/artifact/mblt.py": "import numpy",
    "qbc/runtime/load.py": "import xdsl.ir",
    "qbc/runtime/simulator.py": "import qbc.dialects.npu",
    "qbc/report/accuracy.py": "import numpy",
    "qbc/report/latency.py": "import qbc.passes.base",
    "qbc/driver/plan.py": "import qbcompiler",
    "qbc/driver/opt.py": "import torch",
    "qbcompiler/api.py": "import torch",
}


def _names(entries: list[str]) -> set[str]:
    """Return what a contract lists as the page does: folders without `qbc.`, without the modules that serve all."""
    names = {entry.lstrip("=").removeprefix("qbc.") for entry in entries}
    return names - SERVING - {"passes"}  # the package itself, where the registry finds the files of passes


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _covers(contract: dict[str, Any], module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in contract["modules"])


def test_every_module_has_one_contract() -> None:
    modules = [_module(path) for package in ("qbc", "qbcompiler") for path in (ROOT / package).rglob("*.py")]
    counts = {module: sum(_covers(contract, module) for contract in CONTRACTS) for module in modules}
    assert {module for module, count in counts.items() if count != 1} == {"qbc", "qbc.dialects"}


def test_the_page_says_what_the_contracts_say() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|[^|]*\|([^|]*)\|([^|]*)\|$", text, re.MULTILINE)
    page = {
        f"qbc.{folder.replace('/', '.')}": ({*re.findall(r"[\w.]+", folders)}, {*re.findall(r"\w+", packages)})
        for cell, folders, packages in rows
        for folder in re.findall(r"`([^`]*)`", cell)
    }
    page["qbc.driver"] = (set(), page["qbc.driver"][1])  # all of qbc
    contracts = {}
    for contract in CONTRACTS:
        own = [entry for entry in contract["may_import"] if entry.lstrip("=").partition(".")[0] == "qbc"]
        packages = {entry for entry in contract["may_import"] if entry not in own}
        contracts[contract["name"]] = (_names([entry for entry in own if entry != "qbc"]), packages)
    assert page == {name: contracts[name] for name in contracts if name in page}
    folders = {f"qbc.{path.name}" for path in (ROOT / "qbc").iterdir() if (path / "__init__.py").exists()}
    assert {name for name in page if name.count(".") == 1} | {"qbc.dialects"} == folders


def test_violations_are_caught(tmp_path: Path) -> None:
    """One run over a copy with a forbidden line in every folder lists all of them and nothing else."""
    for package in ("qbc", "qbcompiler"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "data"))
    (tmp_path / "tests" / "layering").mkdir(parents=True)
    for name in ("pyproject.toml", "tests/layering/allowed_imports.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    expected = set()
    for index, (name, line) in enumerate(PLANTS.items()):
        path = tmp_path / name
        planted = f"def _planted() -> None:\n    {line}\n" if index % 2 else f"{line}\n"
        path.write_text(f"{path.read_text()}\n{planted}")
        imported = line.removeprefix("import ")
        inside = imported.startswith("qbc")
        expected.add((_module(ROOT / name), imported if inside else imported.partition(".")[0]))
    done = subprocess.run([LINT, "--no-cache"], cwd=tmp_path, capture_output=True, text=True)
    found = set(re.findall(r"^([\w.]+):\d+ imports ([\w.]+)$", done.stdout, re.MULTILINE))
    assert done.returncode == 1
    assert found == expected
    assert all(any(_covers(contract, module) for module, _ in expected) for contract in CONTRACTS)
