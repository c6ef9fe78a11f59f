"""JSON manifests and tensor files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from qbc.calibration import InputSpec, make_preprocessing, open_samples
from qbc.config import PreprocessingConfig
from qbc.errors import QBCompilerError
from tests.support.photos import photos, save_photos

IMAGE = InputSpec("image", (1, 4, 6, 3), "float32", "nchw")
MASK = InputSpec("mask", (1, 4, 6, 1), "float32", "nchw")
TWIN = InputSpec("twin", (1, 4, 6, 3), "float32", "nchw")


def arrays(tmp_path: Path, rows: int = 3) -> list[list[str]]:
    rng = np.random.default_rng(0)
    names = []
    for row in range(rows):
        pair = [f"{row}_image.npy", f"{row}_mask.npy"]
        np.save(tmp_path / pair[0], rng.standard_normal((1, 4, 6, 3)).astype(np.float32))
        np.save(tmp_path / pair[1], rng.standard_normal((4, 6, 1)).astype(np.float32))
        names.append(pair)
    return names


def write(tmp_path: Path, **content: Any) -> Path:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({key.replace("_", " "): value for key, value in content.items()}))
    return path


def refused(path: Path, *words: str, specs: tuple[InputSpec, ...] = (IMAGE, MASK)) -> None:
    with pytest.raises(QBCompilerError) as caught:
        list(open_samples(path, specs))
    assert caught.value.code == "INVALID_CALIBRATION_DATA"
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_columns_go_by_name(tmp_path: Path) -> None:
    rows = arrays(tmp_path)
    names = {"input names": ["image", "mask"], "input shapes": [[1, -1, -1, 3], [1, 4, 6, 1]], "slot roles": "x"}
    path = write(tmp_path, info=names, calib_paths=rows, metadata={})
    for given in (path, [str(path)]):
        found = list(open_samples(given, [MASK, IMAGE]))
        for sample, (image, mask) in zip(found, rows, strict=True):
            assert np.array_equal(sample["image"], np.load(tmp_path / image))
            assert np.array_equal(sample["mask"][0], np.load(tmp_path / mask))
    swapped = {"input names": ["mask", "image"]}
    reverse = write(tmp_path, info=swapped, calib_paths=[row[::-1] for row in rows])
    assert np.array_equal(list(open_samples(reverse, [IMAGE, MASK]))[1]["image"], np.load(tmp_path / rows[1][0]))


def test_columns_without_names_go_by_shape(tmp_path: Path) -> None:
    rows = arrays(tmp_path)
    for info in ({}, {"input shapes": [[1, 4, 6, 3], [1, 4, 6, 1]]}):
        path = write(tmp_path, info=info, calib_paths=rows)
        (first, *_) = open_samples(path, [MASK, IMAGE])
        assert np.array_equal(first["image"], np.load(tmp_path / rows[0][0]))
    path = write(tmp_path, calib_paths=[[row[0], row[0]] for row in rows])
    refused(path, "same shape", "input names", specs=(IMAGE, TWIN))
    refused(path, "no assignment", specs=(IMAGE, MASK))


def test_images_with_a_pipeline_for_each_input(tmp_path: Path) -> None:
    left, right = InputSpec("left", (1, 20, 30, 3)), InputSpec("right", (1, 10, 10, 1))
    first, second = save_photos(tmp_path, 2)
    shrink = [{"op": "resize", "height": 20, "width": 30, "backend": "pil"}]
    small = [{"op": "resize", "height": 10, "width": 10, "backend": "pil"}]
    section = {
        "apply": True,
        "autoConvertFormat": True,
        "pipeline": shrink,
        "inputConfigs": {"right": {"pipeline": small}},
    }
    path = write(tmp_path, info={"input names": ["right", "left"]}, calib_paths=[[second.name, first.name]])
    images = make_preprocessing(PreprocessingConfig.model_validate(section).model_dump())
    (sample,) = open_samples(path, [left, right], preprocessing=images)
    want = Image.fromarray(photos()[0]).resize((30, 20), Image.BILINEAR)
    assert np.array_equal(sample["left"][0], np.asarray(want, np.float32))
    want = Image.fromarray(photos()[1]).convert("L").resize((10, 10), Image.BILINEAR)
    assert np.array_equal(sample["right"][0, :, :, 0], np.asarray(want, np.float32))
    with pytest.raises(QBCompilerError, match="did you mean 'rihgt'"):
        open_samples(path, [left, InputSpec("rihgt", right.shape)], preprocessing=images)


def test_names_do_not_excuse_wrong_arrays(tmp_path: Path) -> None:
    rows = arrays(tmp_path)
    path = write(tmp_path, info={"input names": ["mask", "image"]}, calib_paths=rows)
    refused(path, "row 0", "expects shape [1, 4, 6, 3]", "found [4, 6, 1]")
    names = ["image", "mask"]
    path = write(tmp_path, info={"input names": names, "input shapes": [[1, 5, 6, 3], [1, 4, 6, 1]]}, calib_paths=rows)
    refused(path, "[1, 5, 6, 3]", "[1, 4, 6, 3]")
    refused(write(tmp_path, info={"input names": ["image", "maks"]}, calib_paths=rows), "maks", "image, mask")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ({}, "calib paths"),
        ({"calib_paths": {}}, "calib paths"),
        ({"calib_paths": [[1]]}, "row 0"),
        ({"calib_paths": [["0_image.npy"]]}, "1 file,"),
        ({"calib_paths": [["0_image.npy", "0_mask.npy"], ["0_image.npy"]]}, "row 1"),
        ({"calib_paths": [["0_image.npy", "nowhere.npy"]]}, "nowhere.npy"),
        ({"info": [], "calib_paths": []}, "info"),
        ({"info": {"input names": "image"}, "calib_paths": []}, "input names"),
        ({"info": {"input names": ["a", "a"]}, "calib_paths": []}, "twice"),
        ({"info": {"input shapes": [[1.5]]}, "calib_paths": []}, "input shapes"),
        ({"info": {"input names": ["image"]}, "calib_paths": [["0_image.npy", "0_mask.npy"]]}, "1 entries"),
    ],
)
def test_wrong_manifests(tmp_path: Path, content: dict[str, Any], word: str) -> None:
    arrays(tmp_path, 1)
    refused(write(tmp_path, **content), "manifest.json", word)


def test_remedies_name_what_is_wrong(tmp_path: Path) -> None:
    rows = arrays(tmp_path)
    path = write(tmp_path, info={"input names": ["image", "maks"]}, calib_paths=rows)
    refused(path, "'maks', which is no input", "(did you mean 'mask'?)")
    broken = tmp_path / "broken.json"
    broken.write_text('{"info": {},\n "calib paths": [["a.npy" "b.npy"]]}')
    refused(broken, "not a JSON manifest: Expecting ',' delimiter at line 2, column 27 (correct line 2, column 27)")


def test_broken_json(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    for text in ("", "[", "[]", '{"calib paths": [[' + "[" * 5000, "\x00"):
        path.write_text(text)
        refused(path, "m.json")


def test_mutated_manifests_never_escape(tmp_path: Path) -> None:
    rows = arrays(tmp_path)
    names = {"input names": ["image", "mask"], "input shapes": [[1, -1, -1, 3], [1, 4, 6, 1]]}
    path = write(tmp_path, info=names, calib_paths=rows)
    original = path.read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(300):
        data = bytearray(original)
        for position in rng.integers(0, len(data), int(rng.integers(1, 4))):
            data[position] = int(rng.integers(0, 256)) if rng.random() < 0.5 else ord(rng.choice(list('[]{}",:1-')))
        path.write_bytes(bytes(data))
        try:
            list(open_samples(path, [IMAGE, MASK]))
        except QBCompilerError as error:
            assert error.code in ("INVALID_CALIBRATION_DATA", "NO_CALIBRATION_DATA")


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("/tmp/never-created-by-a-calibration-file"),))


def test_tensor_files(tmp_path: Path) -> None:
    image, mask = torch.randn(1, 3, 4, 6), torch.randn(4, 6, 1)
    torch.save(image, tmp_path / "a.pt")
    torch.save(image.bfloat16(), tmp_path / "b.pth")
    found = [sample["image"] for sample in open_samples(tmp_path, [IMAGE])]
    assert np.array_equal(found[0], image.permute(0, 2, 3, 1).numpy())
    assert np.array_equal(found[1], image.bfloat16().float().permute(0, 2, 3, 1).numpy())
    torch.save({"image": image, "mask": mask}, tmp_path / "both.pt")
    (sample,) = open_samples(tmp_path / "both.pt", [IMAGE, MASK])
    assert np.array_equal(sample["mask"][0], mask.numpy())
    (sample,) = open_samples(image, [IMAGE])
    assert np.array_equal(sample["image"], image.permute(0, 2, 3, 1).numpy())
    (sample,) = open_samples([{"image": image, "mask": mask}], [IMAGE, MASK])
    assert np.array_equal(sample["mask"][0], mask.numpy())


def test_other_objects_are_never_loaded(tmp_path: Path) -> None:
    torch.save({"image": Evil()}, tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "a.pt", "never loaded", specs=(IMAGE,))
    torch.save([1, 2], tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "a.pt", "list", specs=(IMAGE,))
    assert not Path("/tmp/never-created-by-a-calibration-file").exists()
    for content in (b"", b"PK\x03\x04" + bytes(80), b"garbage"):
        (tmp_path / "a.pt").write_bytes(content)
        refused(tmp_path / "a.pt", "a.pt", specs=(IMAGE,))
    (tmp_path / "a.npy").write_bytes(b"")
    refused(tmp_path / "a.npy", "empty", specs=(IMAGE,))
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refused(tmp_path / "a.npy", "pickled objects are never loaded", specs=(IMAGE,))
