"""Image models from pictures to programs: preprocessing, uint8 inputs, normalisation inside the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from qbc.runtime import load
from qbcompiler import PreprocessingConfig, QBCompilerError, Uint8InputConfig, mxq_compile
from tests.support.photos import photos, save_photos

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIZE = (32, 40)
RESIZE = {"op": "resize", "height": SIZE[0], "width": SIZE[1], "backend": "pil"}
NORMALIZE = {"op": "normalize", "mean": MEAN, "std": STD, "scaleToUint8": True}
FUSED = {**NORMALIZE, "fuseIntoFirstLayer": True}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network for normalised NCHW images, with a padded first layer."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        scale = np.sqrt(2 / max(1, np.prod(shape[1:])))
        return numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["image", "w0", "b0"], ["a"], name="first", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1", "b1"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, (1, 3, *SIZE))],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, (1, 6, 16, 20))],
        [weight("w0", 8, 3, 3, 3), weight("b0", 8), weight("w1", 6, 8, 3, 3), weight("b1", 6)],
    )
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pictures")
    save_photos(directory, 12)
    return directory


def pixels(index: int) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.fromarray(photos()[index]).resize(SIZE[::-1], Image.BILINEAR))


def wanted(network: Path, image: np.ndarray) -> np.ndarray:
    normalized = ((image / 255 - MEAN) / STD).astype(np.float32).transpose(2, 0, 1)[None]
    (result,) = onnxruntime.InferenceSession(network).run(None, {"image": normalized})
    return result.transpose(0, 2, 3, 1)


def compiled(network: Path, output: Path, data: Any, **options: Any) -> Any:
    mxq_compile(network, "aries-rb", data, output, device="cpu", **options)
    return load(output)


def close(found: np.ndarray, want: np.ndarray) -> None:
    """Compare a result of the program with the float network: error power, borders on their own."""
    border = np.ones(want.shape[1:3], bool)
    border[1:-1, 1:-1] = False
    for part in (border, ~border):
        error, signal = found[:, part] - want[:, part], want[:, part] - want[:, part].mean()
        assert (error**2).mean() < 2e-3 * (signal**2).mean()


def test_float_input(network: Path, pictures: Path, tmp_path: Path) -> None:
    section = PreprocessingConfig(apply=True, pipeline=[RESIZE, NORMALIZE])
    program = compiled(network, tmp_path / "a.mxq", str(pictures), preprocessing_config=section)
    image = pixels(14)
    given = ((image / 255 - MEAN) / STD).astype(np.float32)[None]
    close(program.run({"image": given})["logits"], wanted(network, image))


def test_uint8_input_with_fused_normalization(network: Path, pictures: Path, tmp_path: Path) -> None:
    section = {"apply": True, "pipeline": [RESIZE, FUSED]}
    programs = [
        compiled(
            network,
            tmp_path / f"{factor}.mxq",
            pictures,
            preprocessing_config=section,
            uint8_input_config=Uint8InputConfig(apply=True, inputs=[], division_factor=factor),
        )
        for factor in (255.0, 128.0)
    ]
    for index in (14, 15, 16):
        image = pixels(index)
        results = [program.run({"image": image[None]})["logits"] for program in programs]
        assert results[0].dtype == np.float32
        close(results[0], wanted(network, image))
        assert np.abs(results[0] - results[1]).max() < 0.05 * np.abs(results[0]).max()


def test_padding_codes_are_the_mean(network: Path, pictures: Path, tmp_path: Path) -> None:
    options = {
        "preprocessing_config": {"apply": True, "pipeline": [RESIZE, FUSED]},
        "uint8_input_config": {"apply": True},
    }
    simulator = compiled(network, tmp_path / "a.mxq", pictures, **options)
    (pad,) = [command for command in simulator.program.commands if command.kind == "pad"]
    codes = simulator._blob(pad.constants["codes"])
    assert codes.tolist() == [round(255 * mean) - 128 for mean in MEAN]
    assert simulator.program.inputs[0].dtype == "u8" and simulator.program.inputs[0].zero_point == -128


def test_float_input_with_fused_normalization(network: Path, pictures: Path, tmp_path: Path) -> None:
    section = {"apply": True, "pipeline": [RESIZE, FUSED]}
    program = compiled(network, tmp_path / "a.mxq", pictures, preprocessing_config=section)
    image = pixels(14)
    close(program.run({"image": image[None].astype(np.float32)})["logits"], wanted(network, image))


def test_stepwise_route_gives_the_same_bytes(network: Path, pictures: Path, tmp_path: Path) -> None:
    from qbcompiler import mblt_compile

    options: dict[str, Any] = {
        "preprocessing_config": {"apply": True, "pipeline": [RESIZE, FUSED]},
        "uint8_input_config": {"apply": True},
    }
    compiled(network, tmp_path / "a.mxq", pictures, **options)
    mblt_compile(network, tmp_path / "a.mblt", device="cpu")
    compiled(tmp_path / "a.mblt", tmp_path / "b.mxq", pictures, **options)
    assert (tmp_path / "a.mxq").read_bytes() == (tmp_path / "b.mxq").read_bytes()


def test_uint8_programs_take_nothing_else(network: Path, pictures: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "preprocessing_config": {"apply": True, "pipeline": [RESIZE, FUSED]},
        "uint8_input_config": {"apply": True},
    }
    program = compiled(network, tmp_path / "a.mxq", pictures, **options)
    for wrong in (np.float32, np.int8, np.int16):
        with pytest.raises(QBCompilerError, match="uint8"):
            program.run({"image": pixels(0)[None].astype(wrong)})
    nchw = pixels(0).transpose(2, 0, 1)[None]
    assert np.array_equal(
        program.run({"image": nchw})["logits"], program.run({"image": pixels(0)[None]})["logits"].transpose(0, 3, 1, 2)
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["000.png", "preprocessing"]),
        (
            {
                "preprocessing_config": {"apply": True, "pipeline": [RESIZE, NORMALIZE]},
                "uint8_input_config": {"apply": True},
            },
            ["000.png", "uint8", "before normalisation"],
        ),
        ({"preprocessing_config": {"apply": True, "pipeline": [{"op": "resize", "heigth": 3}]}}, ["heigth", "height"]),
        ({"uint8_input_config": {"apply": True, "inputs": ["imgae"]}}, ["imgae", "did you mean 'image'"]),
        (
            {"preprocessing_config": {"apply": True, "pipeline": [{"op": "resize", "size": 32}]}},
            ["000.png", "takes 32x40", "put a centerCrop to height 32 and width 40"],
        ),
    ],
)
def test_mistakes(network: Path, pictures: Path, tmp_path: Path, options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(QBCompilerError) as caught:
        compiled(network, tmp_path / "a.mxq", pictures, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not (tmp_path / "a.mxq").exists()


def test_uint8_programs_in_the_runtime_and_on_the_command_line(network: Path, pictures: Path, tmp_path: Path) -> None:
    from qbcompiler.cli import main
    from qbcompiler.runtime import Accelerator, Model

    options: dict[str, Any] = {
        "preprocessing_config": {"apply": True, "pipeline": [RESIZE, FUSED]},
        "uint8_input_config": {"apply": True},
    }
    program = compiled(network, tmp_path / "a.mxq", pictures, **options)
    model = Model(str(tmp_path / "a.mxq"))
    model.launch(Accelerator(0))
    model.infer_speedrun()
    assert model.get_model_input_data_type() == ["Uint8"]
    (found,) = model.infer(pixels(0))
    assert np.array_equal(found, program.run({"image": pixels(0)[None]})["logits"][0])
    np.save(tmp_path / "x.npy", pixels(0))
    assert main(["run", "--mxq", str(tmp_path / "a.mxq"), "--output-dir", str(tmp_path / "random")]) == 0
    arguments = ["run", "--mxq", str(tmp_path / "a.mxq"), "--input", str(tmp_path / "x.npy")]
    assert main([*arguments, "--output-dir", str(tmp_path / "out")]) == 0
    assert np.array_equal(np.load(tmp_path / "out" / "logits.npy").reshape(found.shape), found)
