"""Compile an ONNX model from Python and run it on the simulator, here the digits network of the package.

python examples/compile_and_run.py [DIRECTORY]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from qbcompiler import mxq_compile
from qbcompiler.demo import digits_model_path, load_digit_images
from qbcompiler.runtime import Accelerator, Model, ModelConfig


def main() -> None:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    train_images, _, test_images, test_labels = load_digit_images()

    # Calibration data: one .npy file a sample in a directory, or arrays in memory as here.
    samples = [image[None] for image in train_images[:64]]
    mxq_compile(
        digits_model_path(), target_device="aries-rb", calib_data_path=samples, save_path=directory / "digits.mxq"
    )

    config = ModelConfig()
    config.set_single_core_mode(1)
    model = Model(str(directory / "digits.mxq"), config)
    model.launch(Accelerator(0))
    logits = np.stack([model.infer_chw(image)[0].reshape(-1) for image in test_images[:100]])
    model.dispose()
    print(f"accuracy on 100 test images: {(logits.argmax(1) == test_labels[:100]).mean():.2%}")


if __name__ == "__main__":
    main()
