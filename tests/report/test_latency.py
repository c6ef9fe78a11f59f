"""The latency estimate: bounds computed apart from it, and what changes when the machine does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qbc.passes.npu.constraints import FUNCTION_UNIT_OPS
from qbc.program import Program
from qbc.report.latency import compare_with_public, latency_table, program_latency, public_rows
from qbc.report.work import _MFU_PASSES
from qbc.runtime.load import load
from qbc.targets import load_target
from qbc.targets.model import Target
from tests.support.latency_bounds import external_bytes, least_seconds, mac_count
from tests.support.networks import compiled
from tests.support.npu_programs import ProgramBuilder

NETWORKS = ("digits", "resnet8", "det160")
EXACT = 1e-12


def _seconds(program: Program, target: Target) -> list[float]:
    return [layer.seconds for layer in program_latency(program, (), target).layers]


@pytest.fixture(scope="module", params=NETWORKS)
def program(request: pytest.FixtureRequest) -> Program:
    return load(compiled(request.param)).program


def test_no_layer_is_faster_than_its_bounds(program: Program) -> None:
    target = load_target("aries-rb")
    peak = target.core.mac.per_cycle * target.clock.ghz * 1e9
    bandwidth = target.dram.peak_gb_per_s * 1e9 * target.dram.efficiency
    result = program_latency(program, (), target)
    assert len(result.layers) == len(program.commands)
    for command, layer in zip(program.commands, result.layers, strict=True):
        assert layer.work.macs == mac_count(command, program), command.kind
        assert layer.seconds >= least_seconds(command, program, peak, bandwidth) * (1 - EXACT), command.kind


def test_twice_the_clock_changes_the_layers_that_do_not_wait_for_memory(program: Program) -> None:
    target = load_target("aries-rb")
    bandwidth = target.dram.peak_gb_per_s * 1e9 * target.dram.efficiency
    faster = replace(target, clock=replace(target.clock, ghz=2 * target.clock.ghz))
    for command, old, new in zip(program.commands, _seconds(program, target), _seconds(program, faster), strict=True):
        memory = external_bytes(command, program) / bandwidth
        waits = old <= memory * (1 + EXACT)
        assert new == pytest.approx(old if waits else max(old / 2, memory), rel=EXACT), command.kind


def test_half_the_bandwidth_changes_the_layers_whose_transfers_then_take_longest(program: Program) -> None:
    target = load_target("aries-rb")
    bandwidth = target.dram.peak_gb_per_s * 1e9 * target.dram.efficiency
    slower = replace(target, dram=replace(target.dram, peak_gb_per_s=target.dram.peak_gb_per_s / 2))
    changed = 0
    for command, old, new in zip(program.commands, _seconds(program, target), _seconds(program, slower), strict=True):
        assert new == pytest.approx(max(old, 2 * external_bytes(command, program) / bandwidth), rel=EXACT)
        changed += new > old
    assert changed > 0


def test_totals_are_sums_of_layers(program: Program) -> None:
    result = program_latency(program, (), load_target("aries-rb"))
    assert result.npu_ms == pytest.approx(1e3 * sum(layer.seconds for layer in result.layers))
    assert result.end_to_end_ms > result.npu_ms
    table = latency_table(result)
    assert table["macs"] == sum(row["macs"] for row in table["layers"])
    assert "assumed" in table["what"]


def test_public_figures_are_compared_by_network() -> None:
    result = program_latency(load(compiled("digits")).program, (), load_target("aries-rb"))
    for network in ("resnet50", "mobilenetv2"):
        rows = compare_with_public(result, network)
        assert [row for row, _, _ in rows] == [row for row in public_rows() if row.network == network] != []
        for row, predicted, error in rows:
            assert error == pytest.approx((predicted - row.value) / row.value)
    assert compare_with_public(result, "unknown") == []


def test_operations_that_need_the_function_unit_are_timed_on_it() -> None:
    assert set(_MFU_PASSES) == {op.KIND for op in FUNCTION_UNIT_OPS}


@pytest.mark.parametrize("kind", ["arg_max", "reduce_max"])
def test_searches_look_at_every_element(kind: str) -> None:
    builder = ProgramBuilder()
    x, y = builder.value((1, 4, 5, 8)), builder.value((1, 4, 5, 1), "i32" if kind == "arg_max" else "i8")
    builder.command(kind, [x], y, {"axis": 3} if kind == "arg_max" else {"axes": (3,)})
    (layer,) = program_latency(builder.writer.program(), (), load_target("aries-rb")).layers
    assert layer.work.vec_i8 + layer.work.vec_i32 == 160
