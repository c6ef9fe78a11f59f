"""Real networks in every core mode: equal bytes, equal to the oracle record by record, and every core is needed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from qbc.modes import CORE_MODES
from qbc.runtime import LoadedModel, Simulator, open_model
from qbcompiler.runtime import Accelerator, Model, ModelConfig
from tests.oracle_checks.program import differing_records
from tests.support.networks import NETWORKS, calibration, compiled, scratch

IN_CI = ("digits", "kws", "det160")
MODES = tuple(CORE_MODES)
SHARED = tuple(mode for mode in MODES if mode != "single")


@cache
def compiled_modes(name: str) -> Path:
    """The network as an `.mxq` that holds every core mode."""
    from qbcompiler import mxq_compile

    output = scratch() / f"{name}-all.mxq"
    mxq_compile(
        model=str(NETWORKS[name].path()),
        target_device="aries-rb",
        calib_data_path=str(calibration(name)),
        save_path=str(output),
        inference_scheme="all",
    )
    return output


def opened(name: str) -> LoadedModel:
    return open_model(compiled_modes(name))


def inputs(name: str, count: int) -> list[dict[str, np.ndarray]]:
    return [{NETWORKS[name].input_name: sample} for sample in NETWORKS[name].inputs(count, 7)]


def equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(found[key], wanted[key]) for key in wanted)


@pytest.mark.parametrize("name", IN_CI)
def test_modes_give_equal_bytes(name: str) -> None:
    model, images = opened(name), inputs(name, 4)
    assert model.package.modes == MODES
    assert model.program("single").commands == open_model(compiled(name)).program().commands
    single = model.simulator("single")
    wanted = [single.run(image) for image in images]
    for mode in SHARED:
        simulator = model.simulator(mode)
        at_once = simulator.program.images
        found = [r for start in range(0, 4, at_once) for r in simulator.run_batch(images[start : start + at_once])]
        assert all(equal(a, b) for a, b in zip(found, wanted, strict=True)), mode


@pytest.mark.parametrize("mode", SHARED)
@pytest.mark.parametrize("name", ["digits", "kws"])
def test_every_record_equals_the_oracle(name: str, mode: str) -> None:
    assert differing_records(opened(name).simulator(mode), inputs(name, 1)[0]) == []


@pytest.mark.parametrize("mode", SHARED)
@pytest.mark.parametrize("name", IN_CI)
def test_every_core_is_needed(name: str, mode: str) -> None:
    """Without the records of any one core the stored outputs differ."""
    model = opened(name)
    program = model.program(mode)
    assert {command.core for command in program.commands} == set(range(program.cores))
    simulator = model.simulator(mode)
    images = [simulator.quantize_inputs(image)[0] for image in inputs(name, program.images)]
    wanted = _bytes(simulator, images)
    for core in range(program.cores):
        fewer = replace(program, commands=tuple(c for c in program.commands if c.core != core))
        assert _bytes(Simulator(fewer, model.package.store), images) != wanted, core


def _bytes(simulator: Simulator, images: list[list[np.ndarray]]) -> list[bytes]:
    return [output.tobytes() for outputs in simulator.run_images(images) for output in outputs]


@pytest.mark.parametrize("name", IN_CI)
def test_constants_are_stored_once(name: str) -> None:
    model, single = opened(name), open_model(compiled(name))
    used = {blob.key for program in model.package.programs.values() for blob in program.blobs}
    assert used == {blob.key for blob in single.program().blobs}
    many, one = (bytes(m.package.container.sections["blobs"]) for m in (model, single))
    assert many == one


def test_documented_calls() -> None:
    name = "digits"
    images = np.concatenate(NETWORKS[name].inputs(6, 3))
    results = []
    for mode in MODES:
        config = ModelConfig()
        assert getattr(config, f"set_{mode}_core_mode")()
        model = Model(compiled_modes(name), config)
        model.launch(Accelerator(0))
        results.append(model.infer(images)[0])
        assert model.get_model_input_shape() == [(8, 8, 1)]
    assert all(np.array_equal(result, results[0]) for result in results)
