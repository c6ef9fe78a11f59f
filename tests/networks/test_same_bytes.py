"""Equal inputs give equal files: routes, output paths, thread counts, names and the order of initializers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from qbc.program.package import read_package
from qbc.runtime.load import load
from qbcompiler.cli import main
from tests.support.networks import NETWORKS, calibration, compiled


def _compile(model: Path, output: Path, name: str) -> Path:
    arguments = ["compile", "--model", str(model), "--output", str(output), "--target-device", "aries-rb"]
    assert main([*arguments, "--calib-data-path", str(calibration(name))]) == 0
    return output


@pytest.mark.parametrize("name", ["digits", "kws", "cls"])
def test_both_routes_and_another_path(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    shape = "x".join(map(str, network.inputs(1, 1)[0].shape))
    bound = ["--input-shape", f"{network.input_name}={shape}"]
    (tmp_path / "other place").mkdir()
    direct, parsed, stepwise = tmp_path / "a.mxq", tmp_path / "m.mblt", tmp_path / "other place" / "b.mxq"
    common = ["--target-device", "aries-rb", "--calib-data-path", str(calibration(name))]
    assert main(["compile", "--model", str(network.path()), "--output", str(direct), *bound, *common]) == 0
    assert main(["parse", "--model", str(network.path()), "--output", str(parsed), *bound]) == 0
    assert main(["quantize", "--mblt", str(parsed), "--output", str(stepwise), *common]) == 0
    assert direct.read_bytes() == stepwise.read_bytes()


@pytest.mark.parametrize("name", ["resnet8"])
def test_thread_counts(name: str, tmp_path: Path) -> None:
    for threads in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE"}
        command = [sys.executable, "-m", "qbcompiler", "compile", "--model", str(NETWORKS[name].path())]
        command += ["--output", str(tmp_path / f"{threads}.mxq"), "--target-device", "aries-rb"]
        command += ["--calib-data-path", str(calibration(name))]
        subprocess.run(command, env=environment, check=True, capture_output=True)
    assert (tmp_path / "1.mxq").read_bytes() == (tmp_path / "2.mxq").read_bytes()
    sample = {NETWORKS[name].input_name: NETWORKS[name].inputs(1, 9)[0]}
    one, two = (load(tmp_path / "1.mxq", threads=n).run(sample) for n in (1, 2))
    assert all(np.array_equal(one[key], two[key]) for key in one)


def _programs_without_names(path: Path):
    programs = read_package(path).programs
    return [
        (p.arenas, p.blobs, p.commands, [(t.scale, t.zero_point, t.operand) for t in (*p.inputs, *p.outputs)])
        for p in programs.values()
    ]


@pytest.mark.parametrize("name", ["digits", "resnet8", "cls"])
def test_names_and_initializer_order_do_not_matter(name: str, tmp_path: Path) -> None:
    model = onnx.load(NETWORKS[name].path())
    rng = np.random.default_rng(1)
    order = rng.permutation(len(model.graph.initializer))
    shuffled = [model.graph.initializer[int(i)] for i in order]
    copies = [onnx.TensorProto.FromString(t.SerializeToString()) for t in shuffled]
    del model.graph.initializer[:]
    model.graph.initializer.extend(copies)
    renamed = {t.name: f"weight {i}" for i, t in enumerate(model.graph.initializer)}
    keep = {v.name for v in (*model.graph.input, *model.graph.output)}
    for node in model.graph.node:
        for output in node.output:
            if output and output not in keep:
                renamed[output] = f"zz{len(renamed)}/value"
    for index, node in enumerate(model.graph.node):
        node.name = f"n{(index * 7919) % 10007}"
        for field in (node.input, node.output):
            for position, value in enumerate(field):
                field[position] = renamed.get(value, value)
    for tensor in model.graph.initializer:
        tensor.name = renamed[tensor.name]
    del model.graph.value_info[:]
    onnx.save(model, tmp_path / "renamed.onnx")
    output = _compile(tmp_path / "renamed.onnx", tmp_path / "renamed.mxq", name)
    assert _programs_without_names(output) == _programs_without_names(compiled(name))
