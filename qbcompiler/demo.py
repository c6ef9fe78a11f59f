"""`qbcompiler demo`: compile the digits network, run it beside the float model, and show what came out."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.errors import QBCompilerError

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
        raise QBCompilerError(
            "the demo takes its images from scikit-learn, which is not installed",
            code="ARGUMENT_ERROR",
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
    return Path(str(resources.files("qbcompiler") / "data" / "digits.onnx"))
