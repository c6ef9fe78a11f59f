"""Whole programs give the same bytes without the fast byte kernels of newer processors, and at any thread count."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from qbc.runtime.load import load
from tests.support.networks import NETWORKS, compiled, scratch

IN_CI = ("digits", "resnet8", "det160")
IMAGES = 2

# Runs programs on stored inputs: arguments are threads, then pairs of a program and its inputs; prints digests.
CHILD = """
import hashlib, sys
import numpy as np
from qbc.kernels import families_in_use
from qbc.runtime.load import load

threads = int(sys.argv[1])
for program, inputs in zip(sys.argv[2::2], sys.argv[3::2]):
    simulator, sha = load(program, threads=threads), hashlib.sha256()
    for image in np.load(inputs):
        for output in simulator.run_stored([image]):
            sha.update(np.ascontiguousarray(output).tobytes())
    print(sha.hexdigest())
print(families_in_use()["conv2d"])
"""


@cache
def stored_inputs(name: str) -> Path:
    """File of stored codes of a few images."""
    network, simulator = NETWORKS[name], load(compiled(name))
    images = [simulator.quantize_inputs({network.input_name: x})[0][0] for x in network.inputs(IMAGES, 5)]
    path = scratch() / f"{name}-stored.npy"
    np.save(path, np.stack(images))
    return path


@cache
def outcome(threads: int, **variables: str) -> list[str]:
    """Digests of the outputs of all networks in a process of its own, then the family of its convolutions."""
    files = [str(path) for name in IN_CI for path in (compiled(name), stored_inputs(name))]
    command = [sys.executable, "-c", CHILD, str(threads), *files]
    environment = os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(threads)} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_processor_without_byte_products_gives_the_same_bytes(threads: int) -> None:
    limited = outcome(threads, ONEDNN_MAX_CPU_ISA="AVX2")
    assert limited[:-1] == outcome(1)[:-1]
    assert limited[-1] != "onednn_conv"  # its self-test found that they saturate


def test_thread_counts_give_the_same_bytes() -> None:
    assert outcome(2) == outcome(1)


def test_other_inputs_give_other_bytes() -> None:
    digests = outcome(1)[:-1]
    assert len(set(digests)) == len(IN_CI)
