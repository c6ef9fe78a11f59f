"""Reading the files that `--crash-reproducer` writes: a module whose first lines say what remains to be run."""

from __future__ import annotations

import re

from qbc.driver.context import DriverContext, find_target
from qbc.errors import ArgumentError, QBCompilerError
from qbc.pipelines.grammar import Pipeline, parse_pipeline

_PIPELINE = re.compile(r"^// qbc-opt reproducer: (?P<pipeline>.*)$", re.MULTILINE)
_TARGET = re.compile(r"^// target: (?P<target>.*)$", re.MULTILINE)


def pipeline_of_reproducer(text: str) -> Pipeline:
    """Return the passes that remain to be run; raises ArgumentError for text that is no reproducer."""
    match = _PIPELINE.search(text)
    if match is None:
        raise ArgumentError("the input is not a reproducer: it has no '// qbc-opt reproducer:' line")
    return parse_pipeline(match["pipeline"])


def take_target_of_reproducer(text: str, ctx: DriverContext) -> None:
    """Take the target of the run that failed, unless one was chosen; one that is not known here is told."""
    match = _TARGET.search(text)
    if match is None or ctx.target is not None:
        return
    try:
        ctx.target = find_target(match["target"], ctx)
    except QBCompilerError:  # a machine description of a user, which is not here
        ctx.notice(f"the run was for {match['target']}, which is no device known here (--target-device FILE)")
