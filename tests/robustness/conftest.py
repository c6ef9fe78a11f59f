"""Sound files that the tests damage or feed with bad input, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from qbcompiler.cli import main
from tests.robustness.zoo import write_zoo, zoo_inputs

Fails = Callable[..., str]


@dataclass(frozen=True)
class Files:
    """The zoo network as model, snapshot and executable, with a directory of two samples."""

    model: Path
    samples: Path
    mblt: Path
    mxq: Path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    directory = tmp_path_factory.mktemp("zoo")
    made = Files(directory / "zoo.onnx", directory / "samples", directory / "zoo.mblt", directory / "zoo.mxq")
    write_zoo(made.model)
    made.samples.mkdir()
    for index, sample in enumerate(zoo_inputs(2, 1)):
        np.save(made.samples / f"{index}.npy", sample)
    assert main(["parse", "--model", str(made.model), "--output", str(made.mblt), "--quiet"]) == 0
    target = ["--target-device", "aries-rb", "--quiet"]
    data = ["--calib-data-path", str(made.samples)]
    assert main(["quantize", "--mblt", str(made.mblt), "--output", str(made.mxq), *data, *target]) == 0
    return made


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Fails:
    """Run a command that must fail; returns its one error line."""

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert main([str(part) for part in arguments]) == 1
        errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ERROR [")]
        assert len(errors) == 1
        return errors[0]

    return run
