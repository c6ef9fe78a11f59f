"""The latency estimate beside published measurements, and beside bounds that are computed apart from it.

    python -m benchmarks.latency [--quick]

Nothing in the estimate is fitted to these networks; the errors show how far a simple model of a machine goes whose
memories and overheads are not public. With `--quick` only ResNet-50 and MobileNetV2 are compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Row, arguments, show, single_thread

PUBLISHED = ("resnet50", "mobilenetv2")
OTHERS = ("digits", "resnet8", "vww", "kws", "ad", "det", "cls", "rec", "magika", "efficientnet")
TARGET = "aries-rb"


def rows(quick: bool) -> Iterator[Row]:
    """Yield a row for each published figure, then one for each network whose layers keep to their bounds."""
    single_thread()
    from qbc.report.latency import compare_with_public, program_latency
    from qbc.runtime.load import load
    from qbc.targets import load_target
    from tests.support.latency_bounds import least_seconds
    from tests.support.networks import compiled

    target = load_target(TARGET)
    peak = target.core.mac.per_cycle * target.clock.ghz * 1e9
    bandwidth = target.dram.peak_gb_per_s * 1e9 * target.dram.efficiency
    for name in PUBLISHED if quick else PUBLISHED + OTHERS:
        program = load(compiled(name)).program
        result = program_latency(program, (), target)
        for row, predicted, error in compare_with_public(result, name):
            unit = "frames/s" if row.quantity == "fps" else "ms"
            yield Row(
                f"latency estimate, {name}, {row.quantity}",
                f"{predicted:.4g} {unit} ({error:+.0%})",
                f"published {row.value:g}",
            )
        pairs = zip(program.commands, result.layers, strict=True)
        faster = [c for c, layer in pairs if layer.seconds < least_seconds(c, program, peak, bandwidth) * (1 - 1e-12)]
        yield Row(
            f"layers faster than max(MACs / peak, bytes / bandwidth), {name}",
            f"{len(faster)} of {len(program.commands)}",
            "0",
            not faster,
        )


if __name__ == "__main__":
    raise SystemExit(show(rows(arguments(__doc__).quick)))
