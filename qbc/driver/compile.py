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

from qbc.atomic import check_writable
from qbc.dialects.common.tensor_text import dims_text
from qbc.driver.candidates import candidate_runs
from qbc.driver.context import DriverContext, find_target, make_context
from qbc.driver.dimensions import require_fixed_inputs, shapes_from_samples
from qbc.driver.effects import Effects
from qbc.driver.events import Event, Progress
from qbc.driver.files import check_source, is_source_model, read_module, write_ir
from qbc.driver.layer_lists import check_layer_lists
from qbc.driver.module_state import forget_value_names, phase_after, require_results
from qbc.driver.outputs import PHASE_SUFFIXES, check_files, check_suffix
from qbc.driver.plan import PARSE_PHASES, QUANTIZE_PHASES, CompileOptions, Plan, make_plan
from qbc.driver.program import programs_of, write_program
from qbc.driver.records import Recorder, check_snapshot
from qbc.driver.samples import BoundSamples, statistics_file
from qbc.driver.side_files import configured_files, save_chosen_samples, save_config, save_preview, save_widths
from qbc.driver.source_map import REMOVED_REPORT, removed_of
from qbc.errors import ArgumentError, OptionError, QBCompilerError, file_error
from qbc.pipelines.grammar import Pipeline
from qbc.pipelines.instrumentation import CrashReproducer, DumpOnChange, Instrumentation, Timing
from qbc.pipelines.phases import PHASES
from qbc.pipelines.runner import run_pipeline, steps_of

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


def parse(
    model: str | Path, output: str | Path, options: CompileOptions | None = None, *, to: str = PARSE_PHASES[-1]
) -> CompileResult:
    """Import a source model up to and including phase `to` and write a `.mblt`; needs no target and no data."""
    return _compile(Path(model), Path(output), options or CompileOptions(), _phases_to(to, PARSE_PHASES))


def quantize(
    mblt: str | Path, output: str | Path, options: CompileOptions | None = None, *, to: str = QUANTIZE_PHASES[-1]
) -> CompileResult:
    """Quantize a `.mblt`, or IR text from there on, up to and including phase `to`; writes the `.mxq` of the target."""
    if Path(mblt).suffix.lower() not in (".mblt", ".mlir"):
        raise ArgumentError(f"{str(mblt)!r} is not a .mblt file", hint="parse a source model first, or use compile")
    return _compile(Path(mblt), Path(output), options or CompileOptions(), _phases_to(to, QUANTIZE_PHASES))


def compile_model(
    model: str | Path, output: str | Path, options: CompileOptions | None = None, *, to: str = PHASES[-1]
) -> CompileResult:
    """Compile a source model or a snapshot up to and including phase `to`.

    The first phase follows from the input: a `.mblt`, or IR text of any dialect, goes on where it stands.
    """
    return _compile(Path(model), Path(output), options or CompileOptions(), _phases_to(to, PHASES))


def _phases_to(last: str, phases: tuple[str, ...]) -> tuple[str, ...]:
    """Return the phases up to and including `last`; ARGUMENT_ERROR when it is none of them."""
    if last not in phases:
        raise ArgumentError(f"unknown phase {last!r}", hint=f"phases are {', '.join(phases)}")
    return phases[: phases.index(last) + 1]


# --- one run -----------------------------------------------------------------------------------------------------


def _compile(source: Path, output: Path, options: CompileOptions, phases: tuple[str, ...]) -> CompileResult:
    with _interruptible():
        run = _Run(source, output, options, phases)
        result = run.run()
        if phases[-1] == PHASES[-1] and "quantize" in run.phases:
            _write_candidates(run, result)
        options.on_event(Event("result", str(output), data=output))
        return result


def _write_candidates(run: _Run, result: CompileResult) -> None:
    """Write the further programs that the configuration asks for; they end silently or as an error."""
    written = []
    for path, candidate in candidate_runs(run.options, run.plan.config, run.output):
        _Run(run.source, path, candidate, run.phases).run()
        written.append(str(path))
    if written:
        notice = f"calibration.statistics.sweep wrote {', '.join(written)} too"
        result.ctx.notice(notice)
        run.options.on_event(Event("notice", notice))


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
        self._record = Recorder(options, self.ctx)
        self._external: dict[str, memoryview] = {}  # weight files beside the source model

    def run(self) -> CompileResult:
        check_source(self.source, self.options.backend)
        self._check_outputs()
        self._check_data()
        module, base = self._open()
        self._record.begin(module)
        first = phase_after(self.source, module)
        phases = tuple(phase for phase in self.phases if PHASES.index(phase) >= PHASES.index(first))
        if not phases:
            raise ArgumentError(f"{str(self.source)!r} is already past the phase {self.phases[-1]!r}")
        if first not in self.phases:
            raise ArgumentError(f"{str(self.source)!r} is not parsed yet", hint="parse it first, or use compile")
        self.phases = phases
        if self.plan.edited is not None:  # which phase the first passes of a text belong to depends on the input
            self.plan = make_plan(self.options, phases)
        for notice in Effects(self.source, self.output, module, self.options, self.plan, phases).check():
            self.ctx.notice(notice)
        has_data = self.plan.calibration is not None or self.plan.random_calibration or self._loads_statistics()
        if "quantize" in phases and not has_data:
            raise QBCompilerError(
                "No calibration dataset is provided",
                code="NO_CALIBRATION_DATA",
                hint="pass calib_data_path (--calib-data-path), or use_random_calib for a smoke test",
            )
        self._set_target(module, base, phases)
        self._bind_samples(module)
        manifest = self._run_phases(module, base, phases)
        self.options.on_event(Event("write", str(self.output)))
        self._write(module, manifest, phases[-1])
        return CompileResult(self.output, module, self.ctx, manifest, self.timing)

    def _check_outputs(self) -> None:
        """Refuse outputs that would replace inputs, that lie about their format, or that cannot be written."""
        options, data = self.options, self.plan.calibration
        read = [self.source, options.compile_config, options.preset, *(data if isinstance(data, list) else [data])]
        configured, kept = configured_files(self.plan)
        further = [path for path, _ in candidate_runs(options, self.plan.config, self.output)]
        asked = [options.preview, options.config_save_path, options.crash_reproducer, options.dump_ir, options.report]
        check_files([*read, *configured], [self.output, *further, *asked, *kept])
        check_suffix(self.output, PHASE_SUFFIXES[self.phases[-1]], self.ctx.notice)
        for path in (self.output, *further, options.preview, options.crash_reproducer):
            if path is not None:
                check_writable(path)

    def _check_data(self) -> None:
        """Refuse calibration paths that cannot serve before the model is read; text may be past their use."""
        data, config = self.plan.calibration, self.plan.config
        if data is None or "quantize" not in self.phases or self.source.suffix.lower() == ".mlir":
            return
        if self._loads_statistics():
            return
        from qbc.calibration.files import check_paths

        prepared = config is not None and (config.preprocessing.apply or config.uint8_input.apply)
        check_paths(data, takes_pictures=prepared or self.plan.edited is not None)

    def _open(self) -> tuple[ModuleOp, Manifest]:
        """Read the input; the manifest is the one of a snapshot, or a new one for a source model."""
        if self.source.suffix.lower() == ".mblt":
            from qbc.artifact.mblt import read_mblt

            opened = read_mblt(self.source, self.ctx, self.ctx.store)
            if opened.manifest.preview:
                raise ArgumentError(f"{str(self.source)!r} is a preview for viewing", hint="write a .mblt with parse")
            check_snapshot(self.source, opened.manifest)
            self.ctx.report["conversion"] = opened.manifest.reports.get("conversion", [])
            self.ctx.report[REMOVED_REPORT] = removed_of(opened.manifest.reports, self.source)
            return opened.module, opened.manifest
        module = self._read_source()
        return module, self._record.of_source(self.source, self._external)

    def _read_source(self) -> ModuleOp:
        """Import the source; dimensions that stay symbolic may come from the first calibration sample."""
        shapes = dict(self.options.input_shapes)
        backend, external = self.options.backend, self._external
        module = read_module(self.source, self.ctx, input_shapes=shapes, external=external, backend=backend)
        quantizes = "quantize" in self.phases and is_source_model(self.source)
        if not quantizes or self.plan.calibration is None:
            return module
        found = shapes_from_samples(module, self.plan.calibration, self.plan.config)
        if not found:
            return module
        for name, shape in found.items():
            self.ctx.notice(f"input shape {name}={dims_text(shape)} comes from the calibration samples")
        return read_module(self.source, self.ctx, input_shapes={**found, **shapes}, backend=backend)

    def _set_target(self, module: ModuleOp, base: Manifest, phases: Sequence[str]) -> None:
        chosen = self.options.target or base.target
        programs = programs_of(module)
        if chosen is None and programs:
            chosen = self._recorded_target(programs[0].target.data)
        if chosen is None and phases[-1] in QUANTIZE_PHASES:
            from qbc.targets import DEFAULT_TARGET, target_names

            chosen = DEFAULT_TARGET
            self.ctx.notice(f"no target device given, using {chosen} (devices: {', '.join(target_names())})")
        if chosen is not None:
            self.ctx.target = find_target(chosen, self.ctx)
            self._bind_target(chosen)
        if base.target is not None and base.target != self.ctx.target.name:
            self.ctx.notice(
                f"{str(self.source)!r} was parsed for {base.target}, the target device given counts: "
                f"{self.ctx.target.name}"
            )
        # How a device was named depends on the route, so artifacts do not record it.
        self._record.unrecorded = set(self.ctx.notices)

    def _recorded_target(self, name: str) -> str:
        """Return the target that a program was lowered for; TARGET_ERROR when it is not known here."""
        try:
            find_target(name, self.ctx)
        except QBCompilerError as error:
            raise QBCompilerError(
                f"{str(self.source)!r} is lowered for {name!r}, which is no device known here",
                code="TARGET_ERROR",
                hint="give its target file as the target device",
            ) from error
        self.ctx.notice(f"target device {name} comes from {str(self.source)!r}")
        return name

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
        watching = self._instrumentations(progress)
        manifest = base
        for phase in phases:
            self.options.on_event(Event("phase", phase, progress.done, total))
            self.timing.phase = phase
            manifest = self._before(phase, module, manifest)
            self._run_phase(phase, module, watching)
            manifest = self._after(phase, module, manifest)
        progress.tell_notices(self.ctx)
        return manifest if phases[-1] in PARSE_PHASES else self._record.quantized(manifest, self.plan, phases)

    def _instrumentations(self, progress: Progress) -> list[Instrumentation]:
        watching: list[Instrumentation] = [self.timing, progress]
        if self.options.dump_ir is not None:
            watching.append(DumpOnChange(self.options.dump_ir, write_ir))
        if self.options.crash_reproducer is not None:
            watching.append(CrashReproducer(self.options.crash_reproducer, write_ir, self._following))
        return watching

    def _following(self) -> Pipeline:
        """Return the passes of all phases after the running one."""
        following = self.phases[self.phases.index(self.timing.phase) + 1 :]
        return Pipeline(tuple(item for phase in following for item in self.plan.pipelines[phase].items))

    def _before(self, phase: str, module: ModuleOp, manifest: Manifest) -> Manifest:
        """Do what comes before a phase: quantization needs fixed inputs and writes down how it was configured."""
        if phase in QUANTIZE_PHASES:
            for notice in self.plan.notices:
                self.ctx.notice(notice)
        if phase != "quantize":
            return manifest
        require_results(module)
        require_fixed_inputs(module, is_snapshot=not is_source_model(self.source))
        check_layer_lists(self.plan.config, module)
        save_config(self.options.config_save_path, self.plan, self.source, self.output)
        return self._record.with_graph(manifest, module)

    def _run_phase(self, phase: str, module: ModuleOp, watching: list[Instrumentation]) -> None:
        """Run the pipeline of a phase; a wrong option that the configuration set is told by its key."""
        pipeline, verify_each = self.plan.pipelines[phase], self.options.verify_each
        try:
            run_pipeline(module, pipeline, self.ctx, instrumentations=watching, verify_each=verify_each)
        except OptionError as error:
            key = self.plan.setting_of(error.pass_name, error.option)
            if key is None:
                raise
            raise error.of_setting(key) from None

    def _after(self, phase: str, module: ModuleOp, manifest: Manifest) -> Manifest:
        """Do what follows a phase: the record grows, and files beside the result are written."""
        if phase == "convert":
            forget_value_names(module)
            manifest = self._record.parsed(manifest, self.plan, module)
            if "quantize" not in self.phases:
                self._report_target(module)
            save_preview(self.options.preview, module, self.ctx, manifest)
        if phase == "quantize":
            manifest = self._record.with_calibration(manifest, self.plan)
            save_widths(self.plan, self.ctx)
            save_chosen_samples(self.plan, module, self.ctx)
        return manifest

    def _report_target(self, module: ModuleOp) -> None:
        """Tell what the chosen target cannot run; quantization refuses it. The file is no other for it."""
        if self.ctx.target is None:
            return
        from qbc.passes.capabilities import refusal_notice
        from qbc.passes.mblt.mblt_check_target import target_breaches

        found = target_breaches(module, self.ctx)
        if found:
            self.ctx.notice(refusal_notice(found, self.ctx.target))

    def _write(self, module: ModuleOp, manifest: Manifest, last_phase: str) -> None:
        if last_phase == "convert" and self.output.suffix.lower() != ".mlir":
            from qbc.artifact.mblt import write_mblt

            write_mblt(self.output, module, self.ctx.store, manifest)
        elif last_phase == "encode":
            write_program(self.output, module, self.ctx, manifest)
        else:
            write_ir(module, self.ctx, self.output)
