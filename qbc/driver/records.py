"""The manifests of a run: what a `.mblt` and an `.mxq` record of how they were made, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from qbc.driver.context import DriverContext
from qbc.driver.plan import PARSE_PHASES, QUANTIZE_PHASES, CompileOptions, Plan
from qbc.driver.program import IMAGES_REPORT, latency_report
from qbc.driver.samples import BoundSamples
from qbc.driver.source_map import REMOVED_REPORT, NodeAccount, removed_of
from qbc.errors import QBCompilerError
from qbc.pipelines.grammar import parse_pipeline
from qbc.pipelines.registry import complete

if TYPE_CHECKING:
    from qbc.artifact.manifest import Manifest


class Recorder:
    """Makes the manifests of one run. Notices in `unrecorded` stay out: they tell of the route, not of the result."""

    def __init__(self, options: CompileOptions, ctx: DriverContext) -> None:
        self.unrecorded: set[str] = set()
        self.account = NodeAccount(ModuleOp([]))
        self._options = options
        self._ctx = ctx

    def begin(self, module: ModuleOp) -> None:
        """Note the source nodes of the module that the run begins with."""
        self.account = NodeAccount(module)

    def of_source(self, source: Path, external: dict[str, memoryview]) -> Manifest:
        """Return the manifest that begins with a source model and the weight files beside it."""
        from qbc.artifact.manifest import Manifest, tool_versions

        provenance = {}
        if self._options.provenance:
            from qbc.driver.provenance import RECORD_VERSION, source_record

            provenance = {"record_version": RECORD_VERSION, "source": source_record(source, external)}
        return Manifest(producer="qbcompiler", versions=tool_versions(), provenance=provenance)

    def parsed(self, base: Manifest, plan: Plan, module: ModuleOp) -> Manifest:
        """Return the manifest of the `.mblt`; the same whether the file is written or not."""
        target = self._ctx.target.name if self._options.target is not None and self._ctx.target is not None else None
        reports = {
            "conversion": self._ctx.report.get("conversion", []),
            REMOVED_REPORT: self.account.of_module(module, self._ctx),
        }
        notices = self._notices(base)
        made = replace(base, pipeline=plan.text(PARSE_PHASES), target=target, notices=notices, reports=reports)
        return self.with_graph(made, module)

    def with_graph(self, base: Manifest, module: ModuleOp) -> Manifest:
        """Add the digest of the parsed graph, unless the snapshot that was read has it."""
        if not self._options.provenance:
            return replace(base, provenance={})
        if "graph" in base.provenance:
            return base
        from qbc.driver.provenance import RECORD_VERSION, graph_record

        record = {"record_version": RECORD_VERSION, **base.provenance, "graph": graph_record(module)}
        return replace(base, provenance=record)

    def with_calibration(self, base: Manifest, plan: Plan) -> Manifest:
        """Add what the quantized program depends on beside the graph: versions, device, configuration, samples."""
        from qbc.artifact.manifest import tool_versions

        versions = tool_versions()
        if not self._options.provenance:
            return replace(base, versions=versions)
        from qbc.driver.provenance import calibration_record

        record = {
            **base.provenance,
            "target_digest": self._ctx.target.digest,
            "calibration": calibration_record(self._ctx),
        }
        if plan.config is not None and plan.config.origin.preset:
            record["preset"] = {"name": plan.config.origin.preset, "sha256": plan.config.origin.sha256}
        if base.versions != versions:
            record["parsed_with"] = base.versions
        return replace(base, versions=versions, provenance=record)

    def quantized(self, base: Manifest, plan: Plan, phases: Sequence[str]) -> Manifest:
        """Return the manifest of what the last of `phases` leaves."""
        done = tuple(phase for phase in phases if phase in QUANTIZE_PHASES)
        pipeline = str(complete(parse_pipeline(base.pipeline) + parse_pipeline(plan.text(done))))
        reports = dict(base.reports)
        images = self._ctx.report.get(IMAGES_REPORT)
        if "encode" in done and images:
            reports[REMOVED_REPORT] = self.account.of_programs(images.values(), self._ctx)
            self._ctx.report["latency"] = reports["latency"] = latency_report(self._ctx)
        return replace(
            base,
            pipeline=pipeline,
            config=plan.config_dict(done),
            target=self._ctx.target.name,
            provenance=self._with_target(base),
            notices=self._notices(base),
            reports=reports,
        )

    def _with_target(self, base: Manifest) -> dict[str, Any]:
        """Return the provenance with the digest of the device, for runs that begin after the phase that adds it."""
        if not self._options.provenance or "target_digest" in base.provenance:
            return base.provenance
        return {**base.provenance, "target_digest": self._ctx.target.digest}

    def _notices(self, base: Manifest) -> list[str]:
        """Return the notices of the snapshot it comes from, then those of this run."""
        samples = self._ctx.samples
        unrecorded = self.unrecorded | (samples.told if isinstance(samples, BoundSamples) else set())
        fresh = [notice for notice in self._ctx.notices if notice not in unrecorded]
        return list(dict.fromkeys([*base.notices, *fresh]))


def check_snapshot(source: Path, manifest: Manifest) -> None:
    """Raise INVALID_SNAPSHOT for a `.mblt` whose pipeline or reports, which go on, cannot be read."""
    removed_of(manifest.reports, source)
    rows = manifest.reports.get("conversion", [])
    if not isinstance(rows, list) or not all(_is_conversion_row(row) for row in rows):
        raise _damaged(source, "a conversion report that cannot be read")
    try:
        complete(parse_pipeline(manifest.pipeline))
    except QBCompilerError as error:
        raise _damaged(source, f"a pipeline that cannot be read: {error.message}") from None


def _is_conversion_row(row: object) -> bool:
    keys = ("node", "operator", "reason")
    return isinstance(row, dict) and all(isinstance(row.get(key), str) for key in keys)


def _damaged(source: Path, what: str) -> QBCompilerError:
    return QBCompilerError(
        f"{str(source)!r} records {what}", code="INVALID_SNAPSHOT", hint="build the file again from its source"
    )
