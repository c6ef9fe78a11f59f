"""Configuration of the FileCheck tests.

RUN lines of the form `qbc-opt ... | filecheck ...` run inside the lit worker (a few milliseconds each); all other
lines, and all lines with `--param processes=1`, run as real processes.
"""

import os
import sys

import lit.formats

sys.path.insert(0, os.path.dirname(__file__))

from inprocess import InProcessTest  # needs the path above

config.name = "qbcompiler"  # noqa: F821  # lit provides `config` and `lit_config`
config.suffixes = [".mlir"]  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_exec_root = lit_config.params.get("exec_root", os.path.join(config.test_source_root, "Output"))  # noqa: F821
scripts = os.path.dirname(sys.executable)
config.environment["PATH"] = os.pathsep.join([scripts, config.environment.get("PATH", "")])  # noqa: F821
processes = lit_config.params.get("processes") == "1"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False) if processes else InProcessTest()  # noqa: F821
