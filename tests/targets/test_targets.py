"""Target files: statuses, cross sums, errors; the latency model against an independent formula."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from qbc.errors import QBCompilerError
from qbc.targets import load_target, load_target_file, resolve_name, target_names
from qbc.targets.latency import LayerWork, estimate


@pytest.mark.parametrize("name", target_names())
def test_peak_follows_from_cores_and_clock(name: str) -> None:
    target = load_target(name)
    tops = target.topology.cores * target.core.mac.per_cycle * 2 * target.clock.ghz / 1e3
    assert tops == pytest.approx(target.peak_tops, rel=0.03)
    mac = target.core.mac
    assert mac.tile_pixels * mac.tile_in_channels * mac.tile_out_channels == mac.per_cycle
    assert all(fact.status in ("public", "derived", "assumed") and fact.reason for fact in target.facts.values())


def test_documented_devices_exist() -> None:
    assert target_names() == ("aries-rb", "regulus-ra", "regulus-rb", "regulus-rb-usb")
    assert not load_target("regulus-ra").core.mfu.present
    assert load_target("regulus-rb-usb").host.float_boundary is False


@pytest.mark.parametrize(
    ("old", "new"), [("aries2", "aries-rb"), ("regulus", "regulus-ra"), ("regulus2", "regulus-rb")]
)
def test_old_names_warn(old: str, new: str) -> None:
    exact, warning = resolve_name(old)
    assert exact == new
    assert warning is not None and new in warning


@pytest.mark.parametrize("name", ["aries_rb", "ARIES-RB", "npu9000"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(QBCompilerError) as caught:
        resolve_name(name)
    assert caught.value.code == "TARGET_ERROR"
    assert "aries-rb" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nextends: _core4k.yaml\n",
        "extends: _core4k.yaml\nname: x\nclock:\n  ghz: 1.0\n  boost_ghz: [1.0, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nclock:\n  ghz: [fast, D, y]\n",
        "extends: aries-rb.yaml\nname: x\ncolour: [1, P, y]\n",
        "extends: me.yaml\n",
        "extends: aries-rb.yaml\nname: x\nclock:\n  ghz: [0, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nclock:\n  ghz: [.inf, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nclock:\n  ghz: [.nan, D, y]\n",
        "extends: aries-rb.yaml\nname: x\ncore:\n  vec:\n    lanes_i8: [0, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nl2:\n  bytes: [-1, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nl2:\n  bytes_per_cycle: [0, D, y]\n",
        "extends: aries-rb.yaml\nname: x\ndram:\n  efficiency: [1.5, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nalign:\n  buffer_bytes: [2, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nmodes: [single, D, y]\n",
        "extends: aries-rb.yaml\nname: x\nmodes: [[], D, y]\n",
        "extends: aries-rb.yaml\nname: x\nmodes: [[single, single], D, y]\n",
        "extends: aries-rb.yaml\nname: x\nmodes: [[single, all], D, y]\n",
        "extends: regulus-rb.yaml\nname: x\nmodes: [[single, multi], D, y]\n",
        "- 1\n",
        ": : :\n\t",
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "me.yaml"
    path.write_text(text)
    with pytest.raises(QBCompilerError) as caught:
        load_target_file(path)
    assert caught.value.code == "TARGET_ERROR"


def test_a_device_without_what_it_may_lack(tmp_path: Path) -> None:
    path = tmp_path / "me.yaml"
    path.write_text("extends: regulus-ra.yaml\nname: x\nl2:\n  bytes: [0, A, none]\nhost:\n  fixed_ms: [0, A, none]\n")
    assert load_target_file(path).l2.bytes == 0


def _works() -> list[LayerWork]:
    conv = LayerWork(
        "conv",
        "conv2d",
        macs=56 * 56 * 64 * 64 * 9,
        pixels=56 * 56,
        in_channels=64,
        out_channels=64,
        taps=9,
        vec_i8=56 * 56 * 64,
        l2_bytes=2 * 56 * 56 * 64,
        dram_read=36864,
    )
    fully = LayerWork(
        "fc", "linear", macs=2048 * 1000, pixels=1, in_channels=2048, out_channels=1000, taps=1, dram_read=2_048_000
    )
    return [conv, fully]


def test_layer_is_never_faster_than_its_bounds() -> None:
    target = load_target("aries-rb")
    for layer in estimate(_works(), target).layers:
        peak = layer.work.macs / (4096 * 1e9)
        moved = (layer.work.dram_read + layer.work.dram_write) / (68.3e9 * 0.565)
        assert layer.seconds >= max(peak, moved)


def test_convolution_cycles_by_hand() -> None:
    layer = estimate(_works(), load_target("aries-rb")).layers[0]
    assert layer.mac_s == pytest.approx((32 + math.ceil(3136 / 16) * 4 * 4 * 9) / 1e9, rel=1e-12)
    assert layer.bound == "mac"


def test_clock_and_bandwidth_move_only_their_layers() -> None:
    target = load_target("aries-rb")
    faster = dataclasses.replace(target, clock=dataclasses.replace(target.clock, ghz=2.0))
    thinner = dataclasses.replace(
        target, dram=dataclasses.replace(target.dram, peak_gb_per_s=target.dram.peak_gb_per_s / 2)
    )
    base, fast, thin = (estimate(_works(), machine) for machine in (target, faster, thinner))
    assert [layer.bound for layer in base.layers] == ["mac", "dram"]
    assert fast.layers[0].seconds == pytest.approx(base.layers[0].seconds / 2)
    assert fast.layers[1].seconds == base.layers[1].seconds
    assert thin.layers[0].seconds == base.layers[0].seconds
    assert thin.layers[1].seconds == pytest.approx(base.layers[1].seconds * 2)
