"""`qbcompiler demo`: compile the digits network, run it beside the float model, and show what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.errors import ArgumentError, QBCompilerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Images = npt.NDArray[np.float32]
    Labels = npt.NDArray[np.int64]

TEST_IMAGES = 360
CALIBRATION_IMAGES = 128


def load_digit_images() -> tuple[Images, Labels, Images, Labels]:
    """Return train images, train labels, test images, test labels: images [n, 1, 8, 8] in 0..1, a fixed split."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ArgumentError(
            "the demo takes its images from scikit-learn, which is not installed",
            hint="pip install 'qbcompiler[demo]'",
        ) from None
    import numpy as np

    data: Any = load_digits()
    images = (data.images[:, None] / 16.0).astype(np.float32)
    labels = data.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    return images[:-TEST_IMAGES], labels[:-TEST_IMAGES], images[-TEST_IMAGES:], labels[-TEST_IMAGES:]


def digits_model_path() -> Path:
    """Return the path of the trained network in the package data."""
    return Path(__file__).parent / "data" / "digits.onnx"


def run_demo(directory: Path, target: str | None) -> int:
    """Compile the digits network with images of scikit-learn, compare float and compiled program on the test images."""
    import numpy as np

    from qbc.driver.compile import compile_model
    from qbc.driver.plan import CompileOptions
    from qbcompiler.channel import channel
    from qbcompiler.reports import render_reports

    train_images, _, test_images, test_labels = load_digit_images()
    model, executable = digits_model_path(), directory / "digits.mxq"
    _make_directory(directory)
    options = CompileOptions(
        target=target or "aries-rb",
        calibration=[np.ascontiguousarray(image[None]) for image in train_images[:CALIBRATION_IMAGES]],
        dump_ir=directory / "ir",
        on_event=channel().sink(quiet=False),
    )
    result = compile_model(model, executable, options)
    compiled = _run_compiled(executable, test_images)
    original = _run_float(model, test_images)
    error = compiled - original
    data = {
        "images": len(test_images),
        "float_accuracy": float((original.argmax(1) == test_labels).mean()),
        "compiled_accuracy": float((compiled.argmax(1) == test_labels).mean()),
        "signal_to_noise_db": float(10 * np.log10(np.square(original).sum() / max(np.square(error).sum(), 1e-30))),
        "model": str(model),
        "executable": str(executable),
        "ir": str(directory / "ir"),
    }
    channel().result("demo", data, lambda: _text(data, render_reports(result)))
    return 0


def _text(data: Mapping[str, Any], reports: Iterable[str]) -> str:
    return "\n".join(
        [
            *(f"{report}\n" for report in reports),
            f"{data['images']} test images",
            f"  float accuracy (onnxruntime)     {data['float_accuracy']:7.2%}",
            f"  compiled accuracy (simulator)    {data['compiled_accuracy']:7.2%}",
            f"  logits, compiled against float   {data['signal_to_noise_db']:6.1f} dB\n",
            f"model       {data['model']}",
            f"executable  {data['executable']}",
            f"IR          {data['ir']} (one file per pass)",
        ]
    )


def _make_directory(directory: Path) -> None:
    import shutil

    try:
        directory.mkdir(parents=True, exist_ok=True)
        if (directory / "ir").is_dir():
            shutil.rmtree(directory / "ir")
    except OSError as error:
        message = f"cannot write to {str(directory)!r}: {error.strerror}"
        raise QBCompilerError(message, code="OUTPUT_WRITE_ERROR") from None


def _run_compiled(executable: Path, images: Images) -> Images:
    import numpy as np

    from qbc.runtime import load

    simulator = load(executable)
    return np.stack([simulator.run({"image": image[None]})["logits"].reshape(-1) for image in images])


def _run_float(model: Path, images: Images) -> Images:
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return np.stack([session.run(None, {"image": image[None]})[0].reshape(-1) for image in images])
