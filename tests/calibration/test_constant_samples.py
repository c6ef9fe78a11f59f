"""Samples without variation are named, inputs that are always 0 are told, and artifacts do not depend on file names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qbc.artifact.mxq import read_mxq_info
from qbc.calibration import InputSpec, open_samples
from qbc.calibration.constant_samples import is_constant
from qbcompiler import mxq_compile
from tests.support.image_networks import classifier

IMAGE = InputSpec("x", (1, 4, 6, 3))
BYTES = InputSpec("x", (1, 4, 6, 3), division_factor=255.0)


def noise(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(IMAGE.shape).astype(np.float32) for _ in range(count)]


def told(data: object, *specs: InputSpec) -> list[str]:
    messages: list[str] = []
    list(open_samples(data, specs or [IMAGE], messages.append))
    return messages


def test_the_file_is_named(tmp_path: Path) -> None:
    items = [*noise(2), np.zeros(IMAGE.shape, np.float32), np.full(IMAGE.shape, 0.5, np.float32)]
    for index, item in enumerate(items):
        np.save(tmp_path / f"{index}.npy", item)
    zero, half = told(tmp_path)
    assert zero == f"{tmp_path / '2.npy'}: the sample for input 'x' is 0 everywhere"
    assert half == f"{tmp_path / '3.npy'}: the sample for input 'x' is 0.5 everywhere"
    np.save(tmp_path / "stack.npy", np.stack(items))
    assert told(tmp_path / "stack.npy")[0].startswith(f"{tmp_path / 'stack.npy'}[2]: ")
    assert told(items)[0] == "sample 2: the sample for input 'x' is 0 everywhere"


def test_pictures_are_told_in_pixels(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 6, 3), 114, np.uint8)).save(tmp_path / "grey.png")
    assert told(tmp_path, BYTES) == [f"{tmp_path / 'grey.png'}: the sample for input 'x' is 114 everywhere"]


def test_many_of_them_are_no_flood() -> None:
    messages = told([np.full(IMAGE.shape, index, np.float32) for index in range(1, 9)])
    assert len(messages) == 3
    assert messages[2] == "sample 2: the sample for input 'x' is 3 everywhere; further ones are not named"


def test_an_input_that_is_always_zero() -> None:
    last = told([np.zeros(IMAGE.shape, np.float32)] * 5)[-1]
    assert last.startswith("input 'x' is 0 in every calibration sample")
    assert told([np.zeros((1, 2), np.float32)] * 5, InputSpec("x", (1, 2))) == [last]
    zero_at_last = [*noise(1), *[np.zeros(IMAGE.shape, np.float32)] * 4]
    assert not any("every calibration sample" in message for message in told(zero_at_last))
    two = [{"x": item, "y": np.zeros(IMAGE.shape, np.float32)} for item in noise(2)]
    messages = told(two, IMAGE, InputSpec("y", IMAGE.shape))
    assert messages[-1].startswith("input 'y' is 0") and not any("'x'" in message for message in messages)


@pytest.mark.parametrize(
    ("array", "spec"),
    [
        (np.ones((1, 64), np.int32), InputSpec("x", (1, 64), "int32")),
        (np.ones((1, 64), bool), InputSpec("x", (1, 64), "bool")),
        (np.full((1, 2), 640, np.float32), InputSpec("x", (1, 2))),
    ],
)
def test_masks_and_sizes_may_be_constant(array: np.ndarray, spec: InputSpec) -> None:
    assert told([array] * 3, spec) == []


@pytest.mark.parametrize("position", [0, 1, 63, 64, 65, 199])
def test_one_other_element_is_enough(position: int) -> None:
    array = np.full((2, 100), 7.0, np.float32)
    assert is_constant(array) and is_constant(array[:, ::2])
    array.reshape(-1)[position] = 6.0
    assert not is_constant(array)


def test_artifacts_do_not_record_the_names_of_files(tmp_path: Path) -> None:
    network = classifier(tmp_path / "net.onnx", (8, 8))
    rng = np.random.default_rng(0)
    samples = [rng.standard_normal((8, 8, 3)).astype(np.float32), np.zeros((8, 8, 3), np.float32)]
    for name in ("a", "b"):
        directory = tmp_path / name
        directory.mkdir()
        for index, sample in enumerate(samples):
            np.save(directory / f"{index}{name}.npy", sample)
        (directory / "notes.md").write_text("not a sample")
        mxq_compile(network, "aries-rb", directory, tmp_path / f"{name}.mxq", device="cpu")
    assert (tmp_path / "a.mxq").read_bytes() == (tmp_path / "b.mxq").read_bytes()
    assert not any("everywhere" in notice for notice in read_mxq_info(tmp_path / "a.mxq").manifest.notices)
