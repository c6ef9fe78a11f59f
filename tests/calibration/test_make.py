"""Calibration sets from pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from qbc.calibration import InputSpec, open_samples
from qbcompiler import ArgumentError, QBCompilerError
from qbcompiler.calibration import make_calib, make_calib_man
from qbcompiler.calibration.utils_calib import list_calib_files_in_json
from tests.support.photos import photos, save_photos

RECIPE = """
Datatype: Image
GetImage: {to_float32: false, channel_order: RGB}
Pre-Order: [ResizeTorch, CenterCrop, Normalize, SetOrder]
Pre-processing:
  Normalize: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4], to_float_div255: true}
  ResizeTorch: {size: 64, interpolation: bilinear}
  CenterCrop: {size: 48}
  SetOrder: {shape: CHW}
"""


def pictures(tmp_path: Path, count: int = 6) -> Path:
    directory = tmp_path / "pictures"
    (directory / "inner").mkdir(parents=True)
    save_photos(directory, count)
    save_photos(directory / "inner", 1)
    return directory


def by_hand(pixels: np.ndarray) -> np.ndarray:
    height, width = pixels.shape[:2]
    size = (64, int(64 * width / height)) if height <= width else (int(64 * height / width), 64)
    planes = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
    planes = torch.nn.functional.interpolate(planes, size=size, mode="bilinear").round().clamp(0, 255)[0]
    top, left = round((size[0] - 48) / 2), round((size[1] - 48) / 2)
    cut = planes[:, top : top + 48, left : left + 48] / 255
    mean, std = torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.2, 0.3, 0.4])
    return ((cut - mean[:, None, None]) / std[:, None, None]).numpy()


def test_recipe(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    made = make_calib(tmp_path / "recipe.yaml", pictures(tmp_path), tmp_path / "out", "set", 100)
    files = sorted(made.iterdir())
    assert [file.name for file in files][:2] == ["000.npy", "001.npy"] and files[-1].name == "inner__000.npy"
    for file, pixels in zip(files, photos(), strict=False):
        assert np.allclose(np.load(file), by_hand(pixels) if file.stem != "inner__000" else by_hand(photos()[0]))
    spec = InputSpec("x", (1, 48, 48, 3), "float32", "nchw")
    assert len(open_samples(made, [spec])) == len(open_samples(tmp_path / "out" / "set.txt", [spec])) == 7
    make_calib(tmp_path / "recipe.yaml", tmp_path / "pictures", tmp_path / "out", "set")


def test_size_is_spread(tmp_path: Path) -> None:
    made = make_calib_man(cv2.imread, pictures(tmp_path), tmp_path, "some", 3)
    assert sorted(file.name for file in made.iterdir()) == ["000.npy", "002.npy", "004.npy"]
    assert np.array_equal(np.load(made / "002.npy"), photos()[2][:, :, ::-1])
    made = make_calib_man(lambda path: torch.ones(2), tmp_path / "pictures", tmp_path, "tensors", 1)
    assert np.array_equal(np.load(made / "000.npy"), [1, 1])


def test_other_operations(tmp_path: Path) -> None:
    recipe = {
        "GetImage": {"to_float32": True, "channel_order": "bgr"},
        "Pre-processing": {
            "Resize": {"size": [20, 30], "interpolation": "nearest"},
            "Pad": {"padding": [1, 2], "value": 7},
            "SetOrder": {"shape": "BHWC"},
        },
    }
    made = make_calib(recipe, pictures(tmp_path, 1), tmp_path, "x")
    found = np.load(made / "000.npy")
    small = cv2.resize(photos()[0][:, :, ::-1].astype(np.float32), (30, 20), interpolation=cv2.INTER_NEAREST)
    assert np.array_equal(found[0], cv2.copyMakeBorder(small, 2, 2, 1, 1, cv2.BORDER_CONSTANT, value=(7, 7, 7)))


@pytest.mark.parametrize(
    ("recipe", "word"),
    [
        ({"Datatyp": 1}, "Datatyp"),
        ({"Datatype": "Audio"}, "Audio"),
        ({"Pre-processing": {"Rotate": {}}}, "ResizeTorch, Resize, CenterCrop"),
        ({"Pre-processing": {"Resize": {"sise": 3}}}, "sise"),
        ({"Pre-processing": {"Resize": {}}}, "size"),
        ({"Pre-processing": {"Resize": {"size": 3, "interpolation": "sinc"}}}, "sinc"),
        ({"Pre-processing": {"Normalize": {"std": 0}}}, "std"),
        ({"Pre-processing": {"SetOrder": {"shape": "WHC"}}}, "WHC"),
        ({"Pre-processing": {"Pad": {"padding": "a"}}}, "padding"),
        ({"Pre-processing": {}, "Pre-Order": ["Resize"]}, "Resize"),
        ({"Pre-processing": {"Resize": {"size": 3}}, "Pre-Order": []}, "leaves out"),
        ({"GetImage": {"channel_order": "yuv"}}, "yuv"),
        ({"Pre-processing": {"SetOrder": {"shape": "CHW"}, "Resize": {"size": 3}}}, "last operation"),
        ({"Pre-processing": {"Normalize": {"std": float("nan")}}}, "finite"),
        ({"Pre-processing": {"Normalize": {"mean": [0.5, float("inf")]}}}, "finite"),
        ({"Pre-processing": {"Pad": {"padding": 1, "value": float("nan")}}}, "finite"),
    ],
)
def test_wrong_recipes(tmp_path: Path, recipe: dict[str, Any], word: str) -> None:
    with pytest.raises(QBCompilerError, match=word) as caught:
        make_calib(recipe, tmp_path, tmp_path, "x")
    assert caught.value.code == "CONFIG_ERROR"


def test_mistakes(tmp_path: Path) -> None:
    def refused(code: str, *arguments: Any) -> None:
        with pytest.raises(QBCompilerError) as caught:
            make_calib_man(*arguments)
        assert caught.value.code == code

    directory = pictures(tmp_path)
    refused("ARGUMENT_ERROR", lambda path: "text", directory, tmp_path, "x")
    refused("ARGUMENT_ERROR", None, directory, tmp_path, "x")
    refused("ARGUMENT_ERROR", cv2.imread, tmp_path / "nowhere", tmp_path, "x")
    refused("ARGUMENT_ERROR", cv2.imread, directory, tmp_path, "../x")
    refused("ARGUMENT_ERROR", cv2.imread, directory, tmp_path, "y", 0)
    (tmp_path / "empty").mkdir()
    refused("NO_CALIBRATION_DATA", cv2.imread, tmp_path / "empty", tmp_path, "x")
    refused("OUTPUT_WRITE_ERROR", cv2.imread, directory, tmp_path, "pictures")
    with pytest.raises(QBCompilerError, match="recipe"):
        make_calib(tmp_path / "nowhere.yaml", directory, tmp_path, "x")


def test_pictures_never_share_a_file(tmp_path: Path) -> None:
    """Names that would meet: another suffix, another case of it, a folder spelled like the separator."""
    for number, name in enumerate(["a.png", "a.PNG", "a.bmp", "b/c.png", "b__c.png", "a_png.png"]):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((2, 2, 3), 10 * number, np.uint8))
    made = make_calib_man(cv2.imread, tmp_path / "pictures", tmp_path / "out", "x")
    assert sorted(int(np.load(file).max()) for file in made.iterdir()) == [0, 10, 20, 30, 40, 50]
    listed = (tmp_path / "out" / "x.txt").read_text().split()
    assert len(set(listed)) == 6 and all((tmp_path / "out" / name).is_file() for name in listed)
    make_calib_man(cv2.imread, tmp_path / "pictures", tmp_path / "out", "x")


def test_errors_of_the_function_name_the_picture_and_leave_nothing(tmp_path: Path) -> None:
    directory = pictures(tmp_path)

    def fails(path: str) -> np.ndarray:
        if path.endswith("002.png"):
            raise FileNotFoundError("no labels")
        return np.ones(2)

    with pytest.raises(ArgumentError, match=r"pre_ftn failed for .*002\.png: FileNotFoundError: no labels") as raised:
        make_calib_man(fails, directory, tmp_path / "deep" / "out", "x")
    assert isinstance(raised.value.__cause__, FileNotFoundError)
    with pytest.raises(ArgumentError, match=r"000\.png: ZeroDivisionError"):
        make_calib_man(lambda path: 1 / 0, directory, tmp_path / "deep" / "out", "x")
    with pytest.raises(ArgumentError, match=r"returned .*list.* for .*000\.png"):
        make_calib_man(lambda path: [[1], [2, 3]], directory, tmp_path / "deep" / "out", "x")
    with pytest.raises(QBCompilerError, match="to_dense"):
        make_calib_man(lambda path: torch.ones(2).to_sparse(), directory, tmp_path / "out", "x")
    (directory / "004.png").write_bytes(b"no picture")
    with pytest.raises(QBCompilerError, match=r"004\.png"):
        make_calib({"Pre-processing": {"Resize": {"size": 3}}}, directory, tmp_path / "out", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["pictures"]


def test_an_older_set_stays_when_a_new_one_fails(tmp_path: Path) -> None:
    directory = pictures(tmp_path)
    made = make_calib_man(lambda path: np.ones(2), directory, tmp_path, "x")
    before = {path: path.read_bytes() for path in made.iterdir()}

    def interrupted(path: str) -> np.ndarray:
        if path.endswith("003.png"):
            raise KeyboardInterrupt
        return np.zeros(2)

    with pytest.raises(KeyboardInterrupt):
        make_calib_man(interrupted, directory, tmp_path, "x")
    assert {path: path.read_bytes() for path in made.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pictures", "x", "x.txt"]
    make_calib_man(lambda path: np.zeros(2), directory, tmp_path, "x")
    assert not any(np.load(path).any() for path in made.iterdir())


@pytest.mark.parametrize("value", [-1, 0.5, 256])
def test_padding_that_is_no_byte(value: float, tmp_path: Path) -> None:
    recipe: dict[str, Any] = {"Pre-processing": {"Pad": {"padding": 1, "value": value}}}
    directory = pictures(tmp_path, 1)
    with pytest.raises(QBCompilerError, match="needs floats"):
        make_calib(recipe, directory, tmp_path / "out", "x")
    made = make_calib({**recipe, "GetImage": {"to_float32": True}}, directory, tmp_path / "out", "x")
    assert np.load(made / "000.npy")[0, 0, 0] == value


def test_manifest_listing(tmp_path: Path) -> None:
    (tmp_path / "a.npy").touch()
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"info": {"input names": ["x", "y"]}, "calib paths": [["a.npy", "/b.npy"]]}))
    assert list_calib_files_in_json(path) == [[str(tmp_path / "a.npy"), "/b.npy"]]
