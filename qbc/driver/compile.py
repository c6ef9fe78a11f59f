"""Compilation: phases run over one module, snapshots at the ends.

`parse` is import and convert (source model -> `.mblt`), `quantize` is quantize, lower and encode (`.mblt` -> `.mxq`),
`compile` is both without the file between them; both routes give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect

from qbc.atomic import check_writable
from qbc.driver.context import DriverContext, find_target, make_context
from qbc.driver.dimensions import require_fixed_inputs, shapes_from_samples
from qbc.driver.events import Event, Progress
from qbc.driver.files import check_source, read_module, write_ir
from qbc.driver.outputs import PHASE_SUFFIXES, check_files, check_suffix
from qbc.driver.plan import PARSE_PHASES, QUANTIZE_PHASES, CompileOptions, Plan, make_plan
from qbc.driver.program import IMAGES_REPORT, latency_report, write_program
from qbc.driver.samples import BoundSamples, argument_attributes, statistics_file
from qbc.errors import ArgumentError, QBCompilerError, file_error
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.instrumentation import CrashReproducer, DumpOnChange, Instrumentation, Timing
from qbc.pipelines.phases import PHASES
from qbc.pipelines.registry import complete
from qbc.pipelines.runner import run_pipeline, steps_of
from qbc.pipelines.text import names_source

if TYPE_CHECKING:
    from qbc.artifact.manifest import Manifest


@dataclass(repr=False)
class CompileResult:
    """What a compilation left: the file, the module, the context with notices and reports, and the timing."""

    output: Path
    module: ModuleOp
    ctx: DriverContext
    manifest: Manifest
    timing: Timing = field(default_factory=Timing)

    def __repr__(self) -> str:
        """Return the file and what to look at, not the whole module."""
        return f"CompileResult({str(self.output)!r}, notices={len(self.ctx.notices)}, reports={sorted(self.reports)})"

    @property
    def reports(self) -> dict[str, Any]:
        """Tables that passes left, by name."""
        return self.ctx.report


def parse(model: str | Path, output: str | Path, options: CompileOptions | None = None) -> CompileResult:
    """Import a source model and write a `.mblt`; needs no target and no data."""
    return _compile(Path(model), Path(output), options or CompileOptions(), PARSE_PHASES)


def quantize(mblt: str | Path, output: str | Path, options: CompileOptions | None = None) -> CompileResult:
    """Quantize a `.mblt` and write the `.mxq` for the target."""
    options = options or CompileOptions()
    if Path(mblt).suffix.lower() != ".mblt":
        raise ArgumentError(f"{str(mblt)!r} is not a .mblt file", hint="parse a source model first, or use compile")
    return _compile(Path(mblt), Path(output), options, QUANTIZE_PHASES)


def compile_model(
    model: str | Path, output: str | Path, options: CompileOptions | None = None, *, to: str = PHASES[-1]
) -> CompileResult:
    """Compile a source model or a snapshot up to and including phase `to`.

    The first phase follows from the input: a `.mblt`, or IR text of any dialect, goes on where it stands.
    """
    if to not in PHASES:
        raise ArgumentError(f"unknown phase {to!r}", hint=f"phases are {', '.join(PHASES)}")
    return _compile(Path(model), Path(output), options or CompileOptions(), PHASES[: PHASES.index(to) + 1])


# --- one run -----------------------------------------------------------------------------------------------------


def _compile(source: Path, output: Path, options: CompileOptions, phases: tuple[str, ...]) -> CompileResult:
    with _interruptible():
        return _Run(source, output, options, phases).run()


@contextmanager
def _interruptible() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise QBCompilerError("interrupted, nothing was written", code="INTERRUPTED") from None
    except MemoryError as error:
        raise QBCompilerError("there is not enough memory", code="RESOURCE_ERROR") from error
    except OSError as error:
        raise file_error(error) from error


class _Run:
    def __init__(self, source: Path, output: Path, options: CompileOptions, phases: tuple[str, ...]) -> None:
        self.source = source
        self.output = output
        self.options = options
        self.phases = phases
        self.plan: Plan = make_plan(options, phases)
        self.ctx = make_context()
        self.timing = Timing()
        self._unrecorded: set[str] = set()
        self._external: dict[str, memoryview] = {}  # weight files beside the source model

    def run(self) -> CompileResult:
        check_source(self.source)
        self._check_outputs()
        module, base = self._open()
        phases = tuple(phase for phase in self.phases if PHASES.index(phase) >= PHASES.index(_first_phase(module)))
        if not phases:
            raise ArgumentError(f"{str(self.source)!r} is already past the phase {self.phases[-1]!r}")
        has_data = self.plan.calibration is not None or self.plan.random_calibration or self._loads_statistics()
        if "quantize" in phases and not has_data:
            raise QBCompilerError(
                "No calibration dataset is provided",
                code="NO_CALIBRATION_DATA",
                hint="pass calib_data_path (--calib-data-path), or use_random_calib for a smoke test",
            )
        self._set_target(base, phases)
        self._bind_samples(module)
        manifest = self._run_phases(module, base, phases)
        self._write(module, manifest, phases[-1])
        self.options.on_event(Event("result", str(self.output), data=self.output))
        return CompileResult(self.output, module, self.ctx, manifest, self.timing)

    def _check_outputs(self) -> None:
        """Refuse outputs that would replace inputs, that lie about their format, or that cannot be written."""
        options, data = self.options, self.plan.calibration
        read = [self.source, options.compile_config, options.preset, *(data if isinstance(data, list) else [data])]
        check_files(read, [self.output, options.preview, options.config_save_path, options.crash_reproducer])
        check_suffix(self.output, PHASE_SUFFIXES[self.phases[-1]], self.ctx.notice)
        for path in (self.output, options.preview, options.crash_reproducer):
            if path is not None:
                check_writable(path)

    def _open(self) -> tuple[ModuleOp, Manifest]:
        """Read the input; the manifest is the one of a snapshot, or a new one for a source model."""
        from qbc.artifact.manifest import Manifest, tool_versions

        if self.source.suffix.lower() == ".mblt":
            from qbc.artifact.mblt import read_mblt

            opened = read_mblt(self.source, self.ctx, self.ctx.store)
            if opened.manifest.preview:
                raise ArgumentError(f"{str(self.source)!r} is a preview for viewing", hint="write a .mblt with parse")
            self._check_records(opened.manifest)
            self.ctx.report["conversion"] = opened.manifest.reports.get("conversion", [])
            return opened.module, opened.manifest
        module = self._read_source()
        provenance = {}
        if self.options.provenance:
            from qbc.driver.provenance import RECORD_VERSION, source_record

            provenance = {"record_version": RECORD_VERSION, "source": source_record(self.source, self._external)}
        return module, Manifest(producer="qbcompiler", versions=tool_versions(), provenance=provenance)

    def _check_records(self, manifest: Manifest) -> None:
        """Pipeline and conversion report of a snapshot go on into the executable: damaged ones are a damaged file."""
        rows = manifest.reports.get("conversion", [])
        if not isinstance(rows, list) or not all(_is_conversion_row(row) for row in rows):
            raise self._damaged("a conversion report that cannot be read")
        try:
            complete(parse_pipeline(manifest.pipeline))
        except QBCompilerError as error:
            raise self._damaged(f"a pipeline that cannot be read: {error.message}") from None

    def _damaged(self, what: str) -> QBCompilerError:
        return QBCompilerError(
            f"{str(self.source)!r} records {what}", code="INVALID_SNAPSHOT", hint="build the file again from its source"
        )

    def _read_source(self) -> ModuleOp:
        """Import the source; dimensions that stay symbolic may come from the first calibration sample."""
        shapes = dict(self.options.input_shapes)
        module = read_module(self.source, self.ctx, input_shapes=shapes, external=self._external)
        quantizes = "quantize" in self.phases and self.source.suffix.lower() == ".onnx"
        if not quantizes or self.plan.calibration is None:
            return module
        found = shapes_from_samples(module, self.plan.calibration, self.plan.config)
        if not found:
            return module
        for name, shape in found.items():
            self.ctx.notice(f"input shape {name}={'x'.join(map(str, shape))} comes from the calibration samples")
        return read_module(self.source, self.ctx, input_shapes={**found, **shapes})

    def _set_target(self, base: Manifest, phases: Sequence[str]) -> None:
        chosen = self.options.target or base.target
        if chosen is None and phases[-1] in QUANTIZE_PHASES:
            from qbc.targets import DEFAULT_TARGET, target_names

            chosen = DEFAULT_TARGET
            self.ctx.notice(f"no target device given, using {chosen} (devices: {', '.join(target_names())})")
        if chosen is not None:
            self.ctx.target = find_target(chosen, self.ctx)
            self._bind_target(chosen)
        # How a device was named depends on the route, so artifacts do not record it.
        self._unrecorded = set(self.ctx.notices)

    def _bind_target(self, chosen: str | Path) -> None:
        """Plan again where the target was not given: which core modes there are depends on it."""
        from dataclasses import replace

        if self.options.target is None and self.plan.config is not None:
            self.plan = make_plan(replace(self.options, target=chosen), self.phases)

    def _loads_statistics(self) -> bool:
        statistics = None if self.plan.config is None else self.plan.config.calibration.statistics
        return statistics is not None and statistics.apply and bool(statistics.load_path)

    def _bind_samples(self, module: ModuleOp) -> None:
        self.ctx.kept_statistics = statistics_file(self.plan.config)
        if self.plan.calibration is not None or self.plan.random_calibration:
            self.ctx.samples = BoundSamples(
                self.plan.calibration,
                module,
                self.ctx,
                self.plan.config,
                self.options.on_event,
                keeps_digests=self.options.provenance,
            )

    def _run_phases(self, module: ModuleOp, base: Manifest, phases: tuple[str, ...]) -> Manifest:
        total = sum(len(steps_of(self.plan.pipelines[phase])) for phase in phases)
        progress = Progress(self.options.on_event, total)
        progress.tell_notices(self.ctx)
        watching: list[Instrumentation] = [self.timing, progress]
        if self.options.dump_ir is not None:
            watching.append(DumpOnChange(self.options.dump_ir, write_ir))
        if self.options.crash_reproducer is not None:
            watching.append(CrashReproducer(self.options.crash_reproducer, write_ir))
        manifest = base
        for phase in phases:
            self.options.on_event(Event("phase", phase, progress.done, total))
            self.timing.phase = phase
            if phase == "quantize":
                require_fixed_inputs(module, is_snapshot=self.source.suffix.lower() == ".mblt")
                for notice in self.plan.notices:
                    self.ctx.notice(notice)
                manifest = self._with_graph(manifest, module)
                self._save_config()
            run_pipeline(
                module,
                self.plan.pipelines[phase],
                self.ctx,
                instrumentations=watching,
                verify_each=self.options.verify_each,
            )
            if phase == "convert":
                forget_value_names(module)
                manifest = self._with_graph(self._parsed_manifest(manifest), module)
                self._write_preview(module, manifest)
            if phase == "quantize":
                manifest = self._with_calibration(manifest)
                self._save_widths()
                self._save_samples(module)
        progress.tell_notices(self.ctx)
        return manifest if phases[-1] in PARSE_PHASES else self._quantized_manifest(manifest, phases)

    def _save_config(self) -> None:
        """Write the resolved configuration with the paths of this run, so that it can be given again."""
        if self.options.config_save_path is None or self.plan.config is None:
            return
        from qbc.config.files import write_config

        paths = {"model_paths": [str(self.source)], "save_paths": [str(self.output)]}
        config = self.plan.config.model_copy(update={**paths, "calib_data_path": _as_paths(self.plan.calibration)})
        write_config(self.options.config_save_path, config.grouped())

    def _save_samples(self, module: ModuleOp) -> None:
        """Write calibration samples where the section saveSample asks for them."""
        if self.plan.config is None or not self.plan.config.save_sample.apply:
            return
        from qbc.driver.save_samples import save_samples

        save_samples(module, self.ctx, self.plan.config.save_sample)

    def _save_widths(self) -> None:
        """Write the bits of each layer where `bit.saveInfo.savePath` asks for them."""
        path = "" if self.plan.config is None else self.plan.config.bit.save_info.save_path
        if not path:
            return
        from qbc.config.files import write_config

        accuracy = self.ctx.report.get("accuracy")
        layers = {} if accuracy is None else {layer.layer: layer.bits for layer in accuracy.layers}
        write_config(Path(path), {"layers": layers})

    def _write_preview(self, module: ModuleOp, manifest: Manifest) -> None:
        """Write the parsed graph for viewing, before quantization changes it."""
        if self.options.preview is None:
            return
        from dataclasses import replace

        from qbc.artifact.mblt import write_mblt

        write_mblt(self.options.preview, module, self.ctx.store, replace(manifest, preview=True))

    def _parsed_manifest(self, base: Manifest) -> Manifest:
        """Manifest of the `.mblt`; the same whether the file is written or not."""
        from dataclasses import replace

        target = self.ctx.target.name if self.options.target is not None and self.ctx.target is not None else None
        reports = {"conversion": self.ctx.report.get("conversion", [])}
        return replace(
            base, pipeline=self.plan.text(PARSE_PHASES), target=target, notices=self._notices(base), reports=reports
        )

    def _with_graph(self, base: Manifest, module: ModuleOp) -> Manifest:
        """Add the digest of the parsed graph, unless the snapshot that was read has it."""
        from dataclasses import replace

        if not self.options.provenance:
            return replace(base, provenance={})
        if "graph" in base.provenance:
            return base
        from qbc.driver.provenance import RECORD_VERSION, graph_record

        return replace(
            base, provenance={"record_version": RECORD_VERSION, **base.provenance, "graph": graph_record(module)}
        )

    def _with_calibration(self, base: Manifest) -> Manifest:
        """Add what the quantized program depends on beside the graph: versions, device, configuration, samples."""
        from dataclasses import replace

        from qbc.artifact.manifest import tool_versions

        versions = tool_versions()
        if not self.options.provenance:
            return replace(base, versions=versions)
        from qbc.driver.provenance import calibration_record, matching_presets

        record = {
            **base.provenance,
            "target_digest": self.ctx.target.digest,
            "calibration": calibration_record(self.ctx),
        }
        if self.plan.config is not None:
            record["presets"] = matching_presets(self.plan.config)
        if base.versions != versions:
            record["parsed_with"] = base.versions
        return replace(base, versions=versions, provenance=record)

    def _quantized_manifest(self, base: Manifest, phases: Sequence[str]) -> Manifest:
        from dataclasses import replace

        done = tuple(phase for phase in phases if phase in QUANTIZE_PHASES)
        pipeline = str(complete(parse_pipeline(base.pipeline) + parse_pipeline(self.plan.text(done))))
        reports = dict(base.reports)
        if "encode" in done and self.ctx.report.get(IMAGES_REPORT):
            self.ctx.report["latency"] = reports["latency"] = latency_report(self.ctx)
        return replace(
            base,
            pipeline=pipeline,
            config=self.plan.config_dict(),
            target=self.ctx.target.name,
            notices=self._notices(base),
            reports=reports,
        )

    def _notices(self, base: Manifest) -> list[str]:
        """Notices of the artifact: those of the snapshot it comes from, then those of this run."""
        samples = self.ctx.samples
        unrecorded = self._unrecorded | (samples.told if isinstance(samples, BoundSamples) else set())
        fresh = [notice for notice in self.ctx.notices if notice not in unrecorded]
        return list(dict.fromkeys([*base.notices, *fresh]))

    def _write(self, module: ModuleOp, manifest: Manifest, last_phase: str) -> None:
        if last_phase == "convert" and self.output.suffix.lower() != ".mlir":
            from qbc.artifact.mblt import write_mblt

            write_mblt(self.output, module, self.ctx.store, manifest)
        elif last_phase == "encode":
            write_program(self.output, module, self.ctx, manifest)
        else:
            write_ir(module, self.ctx, self.output)


def _is_conversion_row(row: object) -> bool:
    keys = ("node", "operator", "reason")
    return isinstance(row, dict) and all(isinstance(row.get(key), str) for key in keys)


# --- helpers -----------------------------------------------------------------------------------------------------

_PHASE_OF_DIALECT = {"npu": "encode", "quant": "lower", "mblt": "quantize", "framework": "import"}


def _as_paths(calibration: Any) -> list[str]:
    """Return calibration data as the configuration records it; arrays in memory have no path."""
    entries = calibration if isinstance(calibration, list | tuple) else [calibration]
    return [str(entry) for entry in entries if isinstance(entry, str | Path)]


def _first_phase(module: ModuleOp) -> str:
    """Return the phase that goes on from a module: the most lowered dialect in it decides."""
    present = {Dialect.split_name(op.name)[0] for op in module.walk() if "." in op.name}
    if "framework" in present and not any("mblt.name" in _argument_keys(op) for op in module.ops):
        return "import"
    for dialect, phase in _PHASE_OF_DIALECT.items():
        if dialect in present:
            return phase
    return "quantize"


def _argument_keys(op: Any) -> set[str]:
    from xdsl.dialects.func import FuncOp

    if not isinstance(op, FuncOp):
        return set()
    return {key for attributes in argument_attributes(op) for key in attributes}


def forget_value_names(module: ModuleOp) -> None:
    """Drop the name hints of values and positions in text, which snapshots do not keep, so that both routes agree."""
    from xdsl.dialects.builtin import UnknownLoc

    for op in module.walk():
        for result in op.results:
            result.name_hint = None
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    argument.name_hint = None
        if not names_source(op.location):
            op.location = UnknownLoc()
