"""The latency estimate of core modes: work is neither lost nor done twice, and time lies between its bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qbc.modes import CORE_MODES
from qbc.program import Program
from qbc.report.latency import program_latency
from qbc.report.work import layer_steps, layer_works
from qbc.targets import load_target
from tests.support.npu_programs import ProgramBuilder

CHANNELS = 256


def program(mode: str, groups: int) -> Program:
    """A convolution with 256 channels and a table, on the cores of a mode."""
    rng, builder = np.random.default_rng(0), ProgramBuilder()
    x, mid, out = (builder.value((1, 16, 16, CHANNELS)) for _ in range(3))
    builder.input(x, 1.0, 0)
    builder.output(out, 1.0, 0)
    window = {"strides": (1, 1), "padding": (1, 1, 1, 1), "dilations": (1, 1), "groups": groups}
    constants = {
        "weight": rng.integers(-9, 9, (CHANNELS, 3, 3, CHANNELS // groups)).astype(np.int8),
        "bias": np.zeros(CHANNELS, np.int64),
        "multiplier": np.full(CHANNELS, 1 << 30),
        "shift": np.full(CHANNELS, 40),
    }
    builder.command("conv2d", [x], mid, {**window, "zx": 0, "z": 0, "lo": -128, "hi": 127}, **constants)
    builder.command("lut", [mid], out, {}, table=np.zeros(256, np.int8))
    single = builder.writer.program()
    if mode == "single":
        return single
    conv, lut = single.commands
    if mode == "multi":
        size = single.arenas["dram"]
        at = [
            replace(
                command,
                inputs=tuple(replace(o, address=o.address + size * image) for o in command.inputs),
                output=replace(command.output, address=command.output.address + size * image),
                core=image,
            )
            for command in (conv, lut)
            for image in range(4)
        ]
        return replace(single, mode=mode, commands=tuple(at))
    cores = CORE_MODES[mode].cores
    step = CHANNELS // cores
    blocks = [
        replace(conv, attributes={**conv.attributes, "channels": (step * core, step * core + step)}, core=core)
        for core in range(cores)
    ]
    return replace(single, mode=mode, commands=(*blocks, lut))


@pytest.mark.parametrize("groups", [1, CHANNELS, 64])
@pytest.mark.parametrize("mode", ["global4", "global8"])
def test_blocks_do_the_work_of_one_core(mode: str, groups: int) -> None:
    target = load_target("aries-rb")
    single, shared = (program_latency(program(name, groups), (), target) for name in ("single", mode))
    assert shared.macs == single.macs
    assert len(shared.layers) == len(single.layers) == 2
    assert shared.dram_bytes == single.dram_bytes  # what all cores read is read once
    conv, alone = shared.layers[0], single.layers[0]
    assert conv.mac_s < alone.mac_s
    assert conv.mac_s * CORE_MODES[mode].cores >= alone.mac_s * 0.999
    assert conv.vec_s == pytest.approx(alone.vec_s / CORE_MODES[mode].cores)
    assert shared.layers[1] == single.layers[1]


def test_images_share_the_constants() -> None:
    target = load_target("aries-rb")
    single, multi = (program_latency(program(name, 1), (), target) for name in ("single", "multi"))
    assert multi.macs == 4 * single.macs
    constants = CHANNELS * CHANNELS * 9 + 3 * 8 * CHANNELS + 256
    assert multi.dram_bytes == 4 * (single.dram_bytes - constants) + constants
    assert multi.layers[0].mac_s == single.layers[0].mac_s
    assert multi.layers[0].dram_s < 4 * single.layers[0].dram_s
    assert multi.images == 4


def test_steps_hold_every_record_once() -> None:
    mfu = load_target("aries-rb").core.mfu
    for mode in CORE_MODES:
        one = program(mode, 1)
        steps = layer_steps(one, (), mfu)
        assert sum(len(step) for step in steps) == len(layer_works(one, (), mfu)) == len(one.commands)
        assert len(steps) == 2
