"""Labelled images that the float model and the integer program name right.

    python -m benchmarks.labelled [--quick]

20 images each of ImageNet and CIFAR-10 (foolbox); seeded crops of photographs calibrate the default preset. The program
may name at most one image less than the float model.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.accuracy import run_float, run_ours
from benchmarks.measure import Row, arguments, show, single_thread

CALIBRATION_SAMPLES, QUICK_SAMPLES = 64, 16
ALLOWED_LOSS = 1


def rows(quick: bool) -> Iterator[Row]:
    """Yield one row for each network."""
    single_thread()
    from tests.models import images
    from tests.support.networks import NETWORKS

    sets = {
        "efficientnet": ("imagenet", images.centre_crop, images.efficientnet_inputs),
        "resnet8": ("cifar10", np.asarray, images.resnet8_inputs),
    }
    for name, (dataset, crop, prepare) in sets.items():
        pictures, labels = zip(*images.labelled(dataset), strict=True)
        inputs = list(prepare(np.stack([crop(picture) for picture in pictures]))[:, None])
        calibration = NETWORKS[name].inputs(QUICK_SAMPLES if quick else CALIBRATION_SAMPLES, 1)
        path = NETWORKS[name].path()
        floats = run_float(path, inputs)
        codes = run_ours(path, calibration, inputs, None).outputs
        right_float, right_ours = (int((np.argmax(y, axis=1) == labels).sum()) for y in (floats, codes))
        yield Row(
            f"labelled images named right, {name}",
            f"{right_ours} of {len(labels)} (float {right_float})",
            f">= {right_float - ALLOWED_LOSS}",
            right_ours >= right_float - ALLOWED_LOSS,
        )


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
