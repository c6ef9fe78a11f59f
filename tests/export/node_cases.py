"""The node cases of the onnx package through parse and export, compared in onnxruntime.

`python -m tests.export.node_cases` prints all that differs.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from qbc.driver.context import make_context
from qbc.driver.files import read_module
from qbc.driver.plan import PARSE_PHASES, CompileOptions, make_plan
from qbc.driver.samples import main_function
from qbc.errors import QBCompilerError
from qbc.export.onnx import save_mblt_onnx
from qbc.pipelines.runner import run_pipeline
from tests.frontends.node_cases import KNOWN, Case, all_cases, run, same

GOOD = ("same", "refused", "not comparable")


class Checker:
    """Takes cases through the parse phases and the export; files lie in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        plan = make_plan(CompileOptions(), PARSE_PHASES)
        self._pipelines = [plan.pipelines[phase] for phase in PARSE_PHASES]

    def check(self, case: Case) -> str:
        """Return `same`, `refused` (opset above the pinned one), `not comparable`, or what went wrong."""
        path, output = self._directory / "case.onnx", self._directory / "exported.onnx"
        path.write_bytes(case.model)
        context = make_context()
        try:
            module = read_module(path, context)
            for pipeline in self._pipelines:
                run_pipeline(module, pipeline, context)
            save_mblt_onnx(main_function(module), context.store, output)
        except QBCompilerError as error:
            return "refused" if error.code == "UNSUPPORTED_OPSET" else str(error)
        found = run(output.read_bytes(), case.inputs)
        if found is not None and same(found, case.outputs):
            return "same"
        wanted = run(case.model, case.inputs)
        if wanted is None or case.name in KNOWN:
            return "not comparable"
        if found is None:
            return "onnxruntime refuses the result"
        return "same" if same(found, wanted) else "different"


def main() -> int:
    """Run all cases; exit status 1 when one went wrong."""
    outcome: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        checker = Checker(Path(directory))
        for case in all_cases():
            try:
                result = checker.check(case)
            except Exception:  # a defect: told, and the other cases run on
                result = traceback.format_exc(limit=-2)
            outcome[result if result in GOOD else "wrong"] += 1
            if result not in GOOD:
                print(case.name, result)
    print(dict(outcome))
    return int(bool(outcome["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
