"""The float program behind a quant function."""

from __future__ import annotations

import numpy as np

from qbc.passes.quant.lift import lift
from tests.support.calibrated_network import CalibratedNetwork


def test_lift_runs_the_same_function() -> None:
    from qbc.execute.float_torch.runner import run

    network = CalibratedNetwork()
    lifted = lift(next(op for op in network.module.body.block.ops if op.name == "func.func"))  # type: ignore[arg-type]
    lifted.function.verify()
    got = run(lifted.function, network.ctx.store, {"x": network.samples[0]})["y"]
    y = network.pre_activation()[:1]
    np.testing.assert_allclose(got, 2 * y * np.clip(y / 6 + 0.5, 0, 1), rtol=1e-4, atol=1e-5)
