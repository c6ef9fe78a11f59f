"""Real networks, compiled once per test process with a few real calibration samples."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from qbcompiler.demo import digits_model_path, load_digit_images
from tests.models import clips, efficientnet, images, magika, ocr, tiny, topologies


@dataclass(frozen=True)
class Network:
    """A model file, its input name, and seeded real inputs in source layout."""

    path: Callable[[], Path]
    input_name: str
    inputs: Callable[[int, int], Sequence[np.ndarray]]  # (count, seed)


def digit_images(count: int, seed: int) -> Sequence[np.ndarray]:
    """Digits of scikit-learn as the bundled network expects them: float32 [1, 1, 8, 8]."""
    train = load_digit_images()[0]
    return list(train[np.random.default_rng(seed).permutation(len(train))[:count]][:, None])


def _crops(prepare: Callable[[np.ndarray], np.ndarray], size: int) -> Callable[[int, int], Sequence[np.ndarray]]:
    return lambda count, seed: list(prepare(images.crops(count, size, seed))[:, None])


def _detector(size: int) -> Network:
    return Network(lambda: ocr.ppocr_path("det"), "x", lambda n, seed: ocr.det_inputs(n, size, seed))


NETWORKS: dict[str, Network] = {
    "digits": Network(digits_model_path, "image", digit_images),
    "resnet8": Network(lambda: tiny.tiny_path("resnet8"), "input", _crops(images.resnet8_inputs, 32)),
    "vww": Network(lambda: tiny.tiny_path("vww"), "input", _crops(images.vww_inputs, 96)),
    "kws": Network(lambda: tiny.tiny_path("kws"), "input", lambda n, seed: list(clips.kws_inputs(n, seed)[:, None])),
    "ad": Network(lambda: tiny.tiny_path("ad"), "input", lambda n, seed: list(clips.ad_inputs(n, seed)[:, None])),
    "det160": _detector(160),
    "det": _detector(320),
    "cls": Network(
        lambda: ocr.ppocr_path("cls"),
        "x",
        lambda n, seed: [np.ascontiguousarray(line[..., :192]) for line in ocr.rec_inputs(n, seed)],
    ),
    "rec": Network(lambda: ocr.ppocr_path("rec"), "x", ocr.rec_inputs),
    "magika": Network(
        magika.magika_path,
        "bytes",
        lambda n, seed: [magika.features(path.read_bytes()) for path in magika.local_files(n, seed)],
    ),
    "efficientnet": Network(efficientnet.efficientnet_path, "image", _crops(images.efficientnet_inputs, 224)),
    "mobilenetv2": Network(topologies.mobilenetv2_path, "image", _crops(images.efficientnet_inputs, 224)),
    "resnet50": Network(topologies.resnet50_path, "image", _crops(images.efficientnet_inputs, 224)),
}
CI_NETWORKS = ("digits", "resnet8", "vww", "kws", "ad", "det160", "cls", "rec", "magika", "efficientnet")
CALIBRATION_SAMPLES = 4


@cache
def scratch() -> Path:
    """A directory of this process, removed at its end."""
    directory = Path(tempfile.mkdtemp(prefix="qbc-test-networks-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@cache
def calibration(name: str) -> Path:
    """Directory of calibration samples (seed 1)."""
    directory = scratch() / f"{name}-samples"
    directory.mkdir()
    for index, sample in enumerate(NETWORKS[name].inputs(CALIBRATION_SAMPLES, 1)):
        np.save(directory / f"{index:03d}.npy", sample)
    return directory


@cache
def compiled(name: str) -> Path:
    """The network as an `.mxq` for aries-rb, default settings."""
    from qbcompiler import mxq_compile

    output = scratch() / f"{name}.mxq"
    model = str(NETWORKS[name].path())
    mxq_compile(model=model, target_device="aries-rb", calib_data_path=str(calibration(name)), save_path=str(output))
    return output


@cache
def parsed(name: str) -> Path:
    """The network as an `.mblt`, with the shape of its samples bound."""
    from qbcompiler.cli import main

    output = scratch() / f"{name}.mblt"
    network = NETWORKS[name]
    shape = "x".join(map(str, network.inputs(1, 1)[0].shape))
    arguments = ["parse", "--model", str(network.path()), "--output", str(output)]
    status = main([*arguments, "--input-shape", f"{network.input_name}={shape}"])
    assert status == 0
    return output
