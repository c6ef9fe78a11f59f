"""What was asked of a run, against what its input has fixed already: contradictions are errors, the rest is told.

A snapshot has done some phases. What belongs to those cannot be asked again: another shape, target or core mode than
the recorded one is refused, and settings that no phase of the run takes are named, so that nothing is asked in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qbc.dialects.common.tensor_text import dims_text
from qbc.driver.context import find_target, make_context
from qbc.driver.files import is_source_model
from qbc.driver.input_passes import picture_settings
from qbc.driver.plan import CompileOptions, Plan
from qbc.driver.program import programs_of
from qbc.driver.scheme import core_mode
from qbc.errors import ArgumentError, QBCompilerError
from qbc.modes import ALL, SINGLE
from qbc.pipelines.grammar import did_you_mean, parse_pipeline
from qbc.pipelines.phases import PHASES, split_by_phase

if TYPE_CHECKING:
    from qbc.config.model import CompileConfig
    from qbc.dialects.npu import ProgramOp

# Fields of the configuration that say which files a run reads and writes, or that hold for every phase.
_EVERY_PHASE = frozenset({"model_paths", "save_paths", "config_version", "device"})
_SHOWN_KEYS = 6


@dataclass(frozen=True)
class Effects:
    """A run as it was asked for: its input, the options, and the phases that are still to be done."""

    source: Path
    output: Path
    module: ModuleOp
    options: CompileOptions
    plan: Plan
    phases: Sequence[str]

    def check(self) -> Iterator[str]:
        """Yield what has no effect on this run; raises ARGUMENT_ERROR or TARGET_ERROR for contradictions."""
        self._check_shapes()
        programs = programs_of(self.module)
        self._check_target(programs)
        self._check_mode(programs)
        if self.options.backend is not None and not is_source_model(self.source):
            yield f"backend has no effect: {str(self.source)!r} is no source model"
        if self.options.target is not None and self._records_no_target():
            yield f"target_device has no effect on the file: {self._why('quantize')}, and IR text records no target"
        if self.options.preview is not None and "convert" not in self.phases:
            yield f"output_subgraph_path has no effect: {self._why('convert')}"
        if "quantize" not in self.phases:
            yield from (f"{name} has no effect: {self._why('quantize')}" for name in self._data_arguments())
        yield from self._lost_record()
        yield from self._settings()
        yield from self._pictures()
        yield from self._passes()

    def _why(self, phase: str) -> str:
        if PHASES.index(phase) < PHASES.index(self.phases[0]):
            return f"{str(self.source)!r} is past the phase {phase}"
        return f"the run ends before the phase {phase}"

    def _records_no_target(self) -> bool:
        return PHASES.index(self.phases[-1]) < PHASES.index("quantize") and self.output.suffix.lower() == ".mlir"

    def _lost_record(self) -> Iterator[str]:
        """Tell what a snapshot that is made of IR text cannot record: the text does not say where it comes from."""
        if self.source.suffix.lower() != ".mlir" or self.output.suffix.lower() == ".mlir":
            return
        before = PHASES[: PHASES.index(self.phases[0])]
        lost = ["the source model"]
        lost += ["the samples"] if "quantize" in before else []
        lost += ["the passes before"] if before else []
        parts = " and ".join(lost)
        yield f"the record of {str(self.output)!r} is without {parts}: IR text does not say where it comes from"

    def _check_shapes(self) -> None:
        """Refuse shapes of inputs that a snapshot has otherwise; equal ones change nothing."""
        if is_source_model(self.source):
            return
        found = _input_shapes(self.module)
        for name, shape in self.options.input_shapes.items():
            if found is not None and name not in found:
                near = did_you_mean(name, list(found)) or f"inputs are {', '.join(found)}"
                raise ArgumentError(f"input shape: {str(self.source)!r} has no input {name!r}", hint=near)
            if found is None or found[name] != tuple(shape):
                has = "" if found is None else f" with {name}={dims_text(found[name])}"
                raise ArgumentError(
                    f"input shape {name}={dims_text(shape)}: {str(self.source)!r} is parsed already{has}",
                    hint="bind shapes when the source model is parsed",
                )

    def _check_target(self, programs: Sequence[ProgramOp]) -> None:
        if self.options.target is None or not programs:
            return
        asked, recorded = find_target(self.options.target, make_context()).name, programs[0].target.data
        if asked != recorded:
            raise QBCompilerError(
                f"target device {asked!r}: {str(self.source)!r} is lowered for {recorded!r} already",
                code="TARGET_ERROR",
                hint="leave the target out, or go on from a snapshot before the phase lower",
            )

    def _check_mode(self, programs: Sequence[ProgramOp]) -> None:
        scheme = self._asked_scheme()
        if scheme is None or not programs:
            return
        target = self.options.target or programs[0].target.data
        mode, _ = core_mode(scheme, target)
        recorded = list(dict.fromkeys(program.mode.data for program in programs))
        every = find_target(target, make_context()).modes if mode == ALL else (mode,)
        if set(recorded) != set(every):
            raise ArgumentError(
                f"inference scheme {scheme!r}: {str(self.source)!r} is lowered for {', '.join(recorded)} already",
                hint="leave the scheme out, or go on from a snapshot before the phase lower",
            )

    def _asked_scheme(self) -> str | None:
        """Return the scheme that an argument gives, or the configuration where it is not the default."""
        given = self.options.arguments.get("inference_scheme")
        if given is not None:
            return str(given)
        configured = None if self.plan.config is None else self.plan.config.inference_scheme
        return None if configured == SINGLE else configured

    def _data_arguments(self) -> Iterator[str]:
        if self.options.calibration is not None:
            yield "calib_data_path"
        if self.options.random_calibration:
            yield "use_random_calib"
        if self.options.config_save_path is not None:
            yield "config_save_path"

    def _settings(self) -> Iterator[str]:
        """Name the settings of phases that do not run, one sentence a phase."""
        config = self.plan.config
        if config is None:
            return
        for phase in PHASES:
            keys = [] if phase in self.phases else _keys_of_phase(config, phase, self.options)
            if keys:
                shown = ", ".join(keys[:_SHOWN_KEYS]) + (", ..." if len(keys) > _SHOWN_KEYS else "")
                yield f"{shown} without effect on this run: {self._why(phase)}"

    def _pictures(self) -> Iterator[str]:
        """Tell of what is done to calibration pictures where there are none."""
        config = self.plan.config
        if config is None or "quantize" not in self.phases or not self.plan.random_calibration:
            return
        for key in picture_settings(config):
            yield f"{key} has no effect on the calibration: random data are no pictures"

    def _passes(self) -> Iterator[str]:
        """Name the phases whose passes an edited pipeline text has in vain."""
        if self.plan.edited is None:
            return
        parts = split_by_phase(parse_pipeline(self.plan.edited), self.phases[0])
        first, last = PHASES.index(self.phases[0]), PHASES.index(self.phases[-1])
        for phases, shown in ((PHASES[:first], -1), (PHASES[last + 1 :], 0)):
            left = [phase for phase in phases if parts[phase].calls()]
            if left:
                names = ", ".join(call.name for call in parts[left[0]].calls()[:3])
                why = self._why(left[shown])
                yield f"pass_pipeline: its passes of {', '.join(left)} ({names}, ...) are left out, {why}"


def _input_shapes(module: ModuleOp) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes of the graph inputs as the source model has them, None for a lowered module."""
    from xdsl.dialects.builtin import TensorType

    from qbc.dialects.common.graph import argument_names, source_layouts
    from qbc.dialects.common.tensor_text import source_dims

    func = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    if func is None:
        return None
    kinds = func.function_type.inputs.data
    layouts = source_layouts(func.arg_attrs, len(kinds))
    rows = zip(argument_names(func), kinds, layouts, strict=True)
    return {name: tuple(source_dims(kind, layout)) for name, kind, layout in rows if isinstance(kind, TensorType)}


def _keys_of_phase(config: CompileConfig, phase: str, options: CompileOptions) -> list[str]:
    """Return the keys that differ from their defaults and that a phase takes, without those that arguments gave."""
    from qbc.config.fields import changed_fields, key_of, treatment

    own = [f"pipelines.{phase}"] if config.pipelines.get(phase) else []  # type: ignore[call-overload]  # phase names
    if phase not in ("quantize", "lower"):
        return own
    told = {"use_random_calib"} if options.random_calibration else set()
    keys = own
    for path in changed_fields(config):
        taken_by = "lower" if path == "inference_scheme" else "quantize"
        kind = treatment(path).kind
        if (
            taken_by == phase
            and kind in ("option", "driver")
            and path.split(".")[0] not in _EVERY_PHASE | {"pipelines", "pass_pipeline", "origin"}
        ):
            keys += [] if path in told else [key_of(path)]
    return keys
