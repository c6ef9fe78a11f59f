"""Nonsense is refused with one clear error, and never crashes or leaves the output range."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qbc.errors import QBCompilerError
from qbc.kernels import CODE_RANGES, FAMILY_KINDS, KernelCall, TensorSpec, prepare
from tests.kernels.samples import all_samples, stored_inputs

SAMPLES = all_samples()
ODD_INTEGERS = st.sampled_from([-(1 << 63), -129, -1, 0, 1, 2, 3, 7, 63, 64, 255, 1 << 31, 1 << 62, 1 << 70])
ODD_VALUES = st.one_of(
    ODD_INTEGERS,
    st.integers(-10, 10),
    st.lists(st.integers(-2, 9), max_size=5).map(tuple),
    st.sampled_from(["hi", "lo", "x", None, 1.5]),
)


def run(sample: KernelCall) -> np.ndarray:
    arrays = stored_inputs(sample)
    out = np.empty(sample.output.shape, sample.output.numpy_dtype)
    prepare(sample)(*arrays, out)
    return out


def test_every_kind_has_a_sample():
    kinds = {kind for kinds in FAMILY_KINDS.values() for kind in kinds}
    assert kinds == {sample.kind for sample in SAMPLES.values()}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_run_and_repeat(name):
    out = run(SAMPLES[name])
    np.testing.assert_array_equal(out, run(SAMPLES[name]))
    if SAMPLES[name].output.dtype == "i16":
        assert out.max() <= CODE_RANGES["i16"][1]


def mutated_constant(value: np.ndarray, how: int, number: int) -> np.ndarray:
    if how == 0:
        return value[..., :-1]
    if how == 1:
        return value.astype(np.float64)
    if how == 2:
        return np.zeros((3, 0), value.dtype)
    changed = value.copy()
    changed.reshape(-1)[number % value.size] = np.array(number).astype(value.dtype)
    return changed


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_calls_are_refused_or_harmless(data):
    sample = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    where = data.draw(st.sampled_from(["attribute", "drop", "constant", "shape", "dtype", "inputs"]))
    attributes, constants = dict(sample.attributes), dict(sample.constants)
    inputs, output = list(sample.inputs), sample.output
    if where in ("attribute", "drop") and attributes:
        key = data.draw(st.sampled_from(sorted(attributes)))
        if where == "drop":
            del attributes[key]
        else:
            attributes[key] = data.draw(ODD_VALUES)
    elif where == "constant" and constants:
        key = data.draw(st.sampled_from(sorted(constants)))
        how = data.draw(st.integers(0, 4))
        constants[key] = mutated_constant(constants[key], how, data.draw(st.integers(-(1 << 62), 1 << 62)))
    elif where == "inputs":
        inputs = inputs[:-1] if data.draw(st.booleans()) else [*inputs, inputs[0]]
    else:
        which = data.draw(st.integers(0, len(inputs)))
        changed = output if which == len(inputs) else inputs[which]
        if where == "dtype":
            changed = TensorSpec(changed.shape, data.draw(st.sampled_from(["i8", "i16", "i32", "f32", "u4"])))
        else:
            shape = list(changed.shape)
            shape[data.draw(st.integers(0, len(shape) - 1))] = data.draw(st.integers(-1, 12))
            changed = TensorSpec(tuple(shape[: data.draw(st.integers(0, 4))] or shape), changed.dtype)
        if which == len(inputs):
            output = changed
        else:
            inputs[which] = changed
    damaged = KernelCall(sample.kind, tuple(inputs), output, attributes, constants)
    try:
        kernel = prepare(damaged)
    except QBCompilerError as error:
        assert error.code == "INVALID_SNAPSHOT" and sample.kind in error.message
        return
    out = np.empty(output.shape, output.numpy_dtype)
    try:
        kernel(*stored_inputs(damaged), out)
    except QBCompilerError as error:
        assert error.code == "RUNTIME_ERROR"


def test_unknown_kind():
    with pytest.raises(QBCompilerError) as caught:
        prepare(KernelCall("no_such_kind", (), TensorSpec((1,), "i8")))
    assert caught.value.code == "INVALID_SNAPSHOT"


@pytest.mark.parametrize("change", ["shape", "dtype", "count", "stride"])
def test_arrays_that_do_not_fit(change):
    sample = SAMPLES["requantize"]
    kernel = prepare(sample)
    x, out = np.zeros(sample.inputs[0].shape, np.uint8), np.zeros(sample.output.shape, np.uint8)
    arrays = {
        "shape": (x[:1], out),
        "dtype": (x.astype(np.int16), out),
        "count": (x,),
        "stride": (np.zeros((10, 3, 2), np.uint8).T, out),
    }[change]
    with pytest.raises(QBCompilerError) as caught:
        kernel(*arrays)
    assert caught.value.code == "RUNTIME_ERROR"


def test_overflowing_channel_is_named():
    sample = SAMPLES["conv2d"]
    bias = sample.constants["bias"].copy()
    bias[5] = (1 << 31) - 10
    damaged = dataclasses.replace(sample, constants=dict(sample.constants) | {"bias": bias})
    with pytest.raises(QBCompilerError, match="output channel 5"):
        prepare(damaged)
    multiplier = sample.constants["multiplier"] * 0 + (1 << 31) - 1
    short = dataclasses.replace(
        SAMPLES["conv2d i16"],
        constants=dict(SAMPLES["conv2d i16"].constants) | {"multiplier": multiplier, "bias": bias * 0 + (1 << 40)},
    )
    with pytest.raises(QBCompilerError, match="output channel 0"):
        prepare(short)


def test_read_only_arrays():
    sample = SAMPLES["conv2d"]
    constants = {name: value.copy() for name, value in sample.constants.items()}
    x = stored_inputs(sample)[0]
    out = np.empty(sample.output.shape, np.uint8)
    for array in (*constants.values(), x):
        array.flags.writeable = False
    kernel = prepare(dataclasses.replace(sample, constants=constants))
    kernel(x, out)
    np.testing.assert_array_equal(out, run(sample))
    out.flags.writeable = False
    with pytest.raises(QBCompilerError):
        kernel(x, out)
