"""Accuracy of the integer program against the float model, beside onnxruntime's static quantization.

    python -m benchmarks.accuracy det rec resnet8 [--no-peer] [--layers 20] [--set PASS.OPTION=VALUE ...]

Calibration and test inputs are seeded and disjoint. The peer is onnxruntime `quantize_static` (QDQ, per channel, int8,
MinMax) on the same calibration inputs in the same run. SQNR is centred, over the whole first output. A required value
stands beside the score that must reach it: a number, or the peer's score (with a margin for masks).
"""

from __future__ import annotations

import argparse
import difflib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Row, show

Array = npt.NDArray[Any]
Score = dict[str, float]
MASK_THRESHOLD = 0.3


@dataclass(frozen=True)
class Requirement:
    """What a score must reach: a value, or the peer's plus a margin."""

    score: str
    least: float | None = None
    margin: float = 0.0

    def bound(self, peer: Score) -> float | None:
        """Return the value to reach; None where it depends on a peer that did not run."""
        if self.least is not None:
            return self.least
        return peer[self.score] + self.margin if self.score in peer else None


REQUIRED = {
    **dict.fromkeys(("efficientnet", "resnet8", "vww", "kws"), Requirement("SQNR dB")),
    "magika": Requirement("top-1 agreement", least=0.97),
    "det": Requirement("pooled IoU", margin=0.05),
    "rec": Requirement("characters", least=0.82),
}


@dataclass(frozen=True)
class Network:
    """A model file, its inputs in source layout, and how outputs are scored."""

    path: Callable[[], Path]
    inputs: Callable[[int, int], Sequence[Array]]  # (count, seed)
    score: Callable[[Array, Array], Score]
    shape: tuple[int, ...] | None = None  # bound input shape, where the model leaves it open
    calibration: int = 64
    test: int = 32


# --- scores ------------------------------------------------------------------------------------------------------


def sqnr(reference: Array, approximation: Array) -> float:
    """Centred SQNR in dB."""
    y = reference.astype(np.float64)
    noise = np.square(y - approximation).sum()
    return float(10 * np.log10(np.square(y - y.mean()).sum() / noise)) if noise else float("inf")


def logits_score(reference: Array, approximation: Array) -> Score:
    """SQNR and agreement of the largest entry."""
    agreement = (reference.argmax(-1) == approximation.argmax(-1)).mean()
    return {"SQNR dB": sqnr(reference, approximation), "top-1 agreement": float(agreement)}


def mask_score(reference: Array, approximation: Array) -> Score:
    """Intersection over union of the masks above 0.3: pooled over all images, and the mean of each."""
    a, b = reference > MASK_THRESHOLD, approximation > MASK_THRESHOLD
    each = [(x & y).sum() / max((x | y).sum(), 1) for x, y in zip(a, b, strict=True)]
    pooled = (a & b).sum() / (a | b).sum()
    return {"pooled IoU": float(pooled), "mean IoU": float(np.mean(each)), "SQNR dB": sqnr(reference, approximation)}


def text_score(reference: Array, approximation: Array) -> Score:
    """Share of characters that agree (longest matching blocks) and of equal lines, after greedy CTC decoding."""
    lines = [(_decode(x), _decode(y)) for x, y in zip(reference, approximation, strict=True)]
    blocks = [difflib.SequenceMatcher(None, x, y, autojunk=False).get_matching_blocks() for x, y in lines]
    equal = sum(block.size for found in blocks for block in found)
    characters = max(sum(max(len(x), len(y)) for x, y in lines), 1)
    return {
        "characters": equal / characters,
        "lines": float(np.mean([x == y for x, y in lines])),
        "SQNR dB": sqnr(reference, approximation),
    }


def _decode(probabilities: Array) -> list[int]:
    best = probabilities.argmax(-1)
    changed = np.concatenate([[True], best[1:] != best[:-1]])
    return [int(index) for index in best[changed] if index != 0]


def signal_score(reference: Array, approximation: Array) -> Score:
    """SQNR alone."""
    return {"SQNR dB": sqnr(reference, approximation)}


# --- networks ----------------------------------------------------------------------------------------------------


def _networks() -> dict[str, Network]:
    from tests.models import clips, efficientnet, images, magika, ocr, tiny, topologies

    def crops(prepare: Callable[[Array], Array], size: int) -> Callable[[int, int], Sequence[Array]]:
        return lambda count, seed: list(prepare(images.crops(count, size, seed))[:, None])

    def files(count: int, seed: int) -> Sequence[Array]:
        return [magika.features(path.read_bytes()) for path in magika.local_files(count, seed)]

    def network(name: str) -> Callable[[], Path]:
        return lambda: tiny.tiny_path(name, logits=name != "ad")

    def text(part: str) -> Network:
        score, shape = {"det": mask_score, "rec": text_score}.get(part, logits_score), ocr.INPUT_SHAPES[part]
        inputs = {"det": lambda n, seed: ocr.det_inputs(n, seed=seed), "rec": ocr.rec_inputs}.get(part, _narrow_lines)
        return Network(lambda: ocr.ppocr_path(part), inputs, score, shape)

    return {
        "det": text("det"),
        "rec": text("rec"),
        "cls": text("cls"),
        "efficientnet": Network(
            efficientnet.efficientnet_path, crops(images.efficientnet_inputs, 224), logits_score, test=500
        ),
        "resnet8": Network(network("resnet8"), crops(images.resnet8_inputs, 32), logits_score, test=500),
        "vww": Network(network("vww"), crops(images.vww_inputs, 96), logits_score, test=500),
        "kws": Network(
            network("kws"), lambda n, seed: list(clips.kws_inputs(n, seed)[:, None]), logits_score, test=500
        ),
        "ad": Network(network("ad"), lambda n, seed: list(clips.ad_inputs(n, seed)[:, None]), signal_score, test=500),
        "magika": Network(magika.magika_path, files, logits_score, (1, 2048), test=200),
        "resnet50": Network(topologies.resnet50_path, crops(images.efficientnet_inputs, 224), logits_score, test=16),
        "mobilenetv2": Network(
            topologies.mobilenetv2_path, crops(images.efficientnet_inputs, 224), logits_score, test=16
        ),
    }


def _narrow_lines(count: int, seed: int) -> Sequence[Array]:
    from tests.models import ocr

    return [np.ascontiguousarray(line[..., :192]) for line in ocr.rec_inputs(count, seed)]


# --- runs --------------------------------------------------------------------------------------------------------


def run_float(path: Path, inputs: Sequence[Array]) -> Array:
    """Run the source model in onnxruntime and return the first output of all inputs."""
    session = _session(path)
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: x})[0] for x in inputs])


def run_peer(path: Path, calibration: Sequence[Array], inputs: Sequence[Array], shape: tuple[int, ...] | None) -> Array:
    """Quantize with onnxruntime (static QDQ, per channel, int8, MinMax) and run."""
    import onnx
    import onnxslim
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    model = onnx.load(path)
    name = model.graph.input[0].name
    bound = [f"{name}:{','.join(map(str, shape))}"] if shape else None
    model = onnxslim.slim(model, input_shapes=bound)
    if model.opset_import[0].version < 17:
        model = onnx.version_converter.convert_version(model, 17)
    with tempfile.TemporaryDirectory() as folder:
        source, prepared, quantized = (Path(folder) / f"{stage}.onnx" for stage in ("source", "prepared", "quantized"))
        onnx.save(model, source)
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(quantized),
            _Reader(name, calibration),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
        )
        return run_float(quantized, inputs)


class _Reader:
    """What quantize_static reads: one dictionary after the other, then None."""

    def __init__(self, name: str, samples: Sequence[Array]) -> None:
        self._samples = iter([{name: sample} for sample in samples])

    def get_next(self) -> dict[str, Array] | None:
        return next(self._samples, None)


@dataclass(frozen=True)
class Compiled:
    """A quantized module, what the passes reported, and the integer outputs."""

    report: dict[str, Any]
    notices: list[str]
    seconds: float
    outputs: Array


def run_ours(
    path: Path,
    calibration: Sequence[Array],
    inputs: Sequence[Array],
    shape: tuple[int, ...] | None,
    options: Sequence[tuple[str, str, Any]] = (),
) -> Compiled:
    """Quantize with the default preset and run the integer program, which has the bits of the simulator."""
    from qbc.calibration import open_samples
    from qbc.calibration.inputs import fit_array
    from qbc.driver.context import make_context
    from qbc.driver.samples import input_specs, main_function
    from qbc.execute.integer import IntegerProgram
    from qbc.frontends.onnx import import_onnx
    from qbc.pipelines.phases import load_preset, with_options
    from qbc.pipelines.runner import run_pipeline

    context, preset = make_context(), load_preset("default")
    start = time.process_time()
    name = _session(path).get_inputs()[0].name
    module = import_onnx(path, context.store, input_shapes={name: shape} if shape else None)
    for phase in ("import", "convert"):
        run_pipeline(module, preset.pipeline(phase), context)
    (spec,) = input_specs(module)
    context.samples = open_samples([{spec.name: sample} for sample in calibration], [spec])
    pipeline, placed = with_options(preset.pipeline("quantize"), options)
    if len(placed) < len(options):
        raise SystemExit(f"no pass has these options: {options}")
    run_pipeline(module, pipeline, context)
    seconds = time.process_time() - start
    program = IntegerProgram(main_function(module), context.store)
    outputs = [next(iter(program.run({spec.name: fit_array(x, spec, "test")}).values())) for x in inputs]
    return Compiled(context.report, context.notices, seconds, np.concatenate(outputs))


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _to_layout(outputs: Array, reference: Array) -> Array:
    """Return channel-last outputs in the layout of the source model."""
    if outputs.shape == reference.shape:
        return outputs
    return np.ascontiguousarray(np.moveaxis(outputs, -1, 1)).reshape(reference.shape)


# --- command line ------------------------------------------------------------------------------------------------


def main() -> int:
    """Measure the networks that the arguments name; the status is 1 when one misses what it must reach."""
    networks = _networks()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(networks), help=", ".join(networks))
    parser.add_argument("--no-peer", action="store_true", help="do not run onnxruntime's quantization")
    parser.add_argument("--layers", type=int, default=0, help="print this many of the worst layers")
    parser.add_argument("--test", type=int, default=0, help="number of test inputs")
    parser.add_argument("--calibration", type=int, default=0, help="number of calibration inputs")
    parser.add_argument("--set", action="append", default=[], metavar="PASS.OPTION=VALUE", help="set a pass option")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.networks if name not in networks]
    if unknown:
        parser.error(f"unknown network {unknown[0]!r}; choose from {', '.join(networks)}")
    return show(row for name in arguments.networks for row in _measure(name, networks[name], arguments))


def _measure(name: str, network: Network, arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each score of a network."""
    path = network.path()
    calibration = network.inputs(arguments.calibration or network.calibration, 1)
    test = network.inputs(arguments.test or network.test, 2)
    reference = run_float(path, test)
    options = [_option(text) for text in arguments.set]
    compiled = run_ours(path, calibration, test, network.shape, options)
    ours = network.score(reference, _to_layout(compiled.outputs, reference))
    print(f"{name}: quantized in {compiled.seconds:.1f} CPU s", flush=True)
    for promoted in compiled.report.get("promoted", ()):
        print(f"  16 bits ({promoted['rule']}): {', '.join(promoted['nodes'])}")
    if arguments.layers:
        from qbc.report.accuracy import render_accuracy

        print(render_accuracy(compiled.report["accuracy"], limit=arguments.layers))
    peer: Score = {}
    try:
        if not arguments.no_peer:
            peer = network.score(reference, run_peer(path, calibration, test, network.shape))
    except Exception as error:  # whatever the peer fails with is its result
        reason = str(error).splitlines()[0] if str(error) else ""
        print(f"  onnxruntime failed: {type(error).__name__}: {reason}", flush=True)
    required = REQUIRED.get(name)
    for key, value in ours.items():
        bound = required.bound(peer) if required is not None and required.score == key else None
        beside = f" (onnxruntime {peer[key]:.4f})" if key in peer else ""
        limit = "" if bound is None else f">= {bound:.4f}"
        yield Row(f"accuracy, {name}, {key}", f"{value:.4f}{beside}", limit, None if bound is None else value >= bound)


def _option(text: str) -> tuple[str, str, Any]:
    from qbc.pipelines.grammar import PassCall, parse_pipeline

    target, _, value = text.partition("=")
    name, _, option = target.partition(".")
    call = parse_pipeline(f"{name}{{{option}={value}}}").items[0]
    assert isinstance(call, PassCall)
    return name, option, dict(call.options)[option]


if __name__ == "__main__":
    raise SystemExit(main())
