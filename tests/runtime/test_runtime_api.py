"""The documented runtime API on a hand-made file."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from qbc.errors import QBCompilerError
from qbcompiler import runtime
from qbcompiler.runtime import (
    Accelerator,
    CoreMode,
    DataType,
    Model,
    ModelConfig,
    get_available_devices,
    get_model_summary,
    load,
    set_log_level,
)
from tests.support.npu_programs import MAX_POOL, ProgramBuilder, conv_program, conv_reference

X = np.random.default_rng(0).normal(0, 20, (6, 8, 4)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    builder, _ = conv_program(np.random.default_rng(3))
    builder.save(tmp_path / "conv.mxq")
    return tmp_path / "conv.mxq"


@pytest.fixture
def model(path: Path) -> Model:
    model = Model(path)
    model.launch(Accelerator(0))
    return model


def expected() -> np.ndarray:
    _, constants = conv_program(np.random.default_rng(3))
    codes = np.clip(np.rint(X / np.float32(0.5)) + 3, -128, 127).astype(np.int8)
    return (conv_reference(codes[None], constants).astype(np.float32)[0] + 7) * np.float32(0.25)


def test_layouts_and_batches(model: Model) -> None:
    wanted = expected()
    (result,) = model.infer(X)
    assert np.array_equal(result, wanted)
    assert np.array_equal(model.infer([X[None]])[0], wanted[None])
    chw = X.transpose(2, 0, 1)
    assert np.array_equal(model.infer(chw)[0], wanted.transpose(2, 0, 1))
    assert np.array_equal(model.infer_chw(chw)[0], wanted.transpose(2, 0, 1))
    assert np.array_equal(model.infer_hwc(X)[0], wanted)
    batch = np.stack([X, np.zeros_like(X), X])
    results = model.infer(batch)[0]
    assert results.shape == (3, 3, 4, 5)
    assert np.array_equal(results[0], wanted)
    assert np.array_equal(results[2], wanted)
    assert not np.array_equal(results[1], wanted)
    with pytest.raises(QBCompilerError) as error:
        model.infer_chw(X)
    assert error.value.status == 21  # type: ignore[attr-defined]


def test_codes_in_codes_out(model: Model) -> None:
    codes = np.clip(np.rint(X / np.float32(0.5)) + 3, -128, 127).astype(np.int8)
    (result,) = model.infer(codes)
    assert result.dtype == np.int8
    scale = model.get_output_scale()[0]
    assert np.array_equal((result.astype(np.float32) - scale.zero_point) * np.float32(scale.scale), expected())
    assert np.array_equal(model.infer_to_float(codes)[0], expected())


def test_given_outputs_are_filled(model: Model) -> None:
    target, empty = [np.zeros((3, 4, 5), np.float32)], []
    returned = model.infer(X, target)
    assert returned[0] is target[0]
    assert np.array_equal(target[0], expected())
    assert model.infer(X, empty) is empty
    assert len(empty) == 1
    with pytest.raises(QBCompilerError, match="outputs"):
        model.infer(X, [target[0], target[0]])


def test_facts(model: Model, path: Path) -> None:
    assert model.get_model_input_shape() == [(6, 8, 4)]
    assert model.get_model_output_shape() == [(3, 4, 5)]
    scale = model.get_input_scale()[0]
    assert (scale.scale, scale.zero_point, scale.is_uniform, scale.is_asymmetric) == (0.5, 3, True, True)
    assert (scale.scale_list, scale.zero_points) == ([0.5], [3])
    assert model.get_core_mode() is CoreMode.Single
    assert model.get_target_cores() == model.target_cores == ["0:0"]
    assert [model.is_target(core) for core in ("0:0", "0:0:0", "0:1", "1:0:0")] == [True, True, False, False]
    assert model.get_num_model_variants() == 1
    assert model.get_model_path() == str(path)
    assert model.get_identifier() == "conv"
    assert (model.get_input_names(), model.get_output_names()) == (["x"], ["y"])
    assert model.get_model_input_data_type() == model.get_model_output_data_type() == ["Int8"]
    summary = get_model_summary(path)
    assert "aries-rb, core mode single, variant 0: 2 commands" in summary
    assert "input 'x' [6, 8, 4] i8, scale 0.5, zero point 3" in summary
    model.infer_speedrun()


def test_life_cycle(path: Path) -> None:
    with load(path) as model:
        with pytest.raises(QBCompilerError, match="not launched"):
            model.infer(X)
        model.launch(Accelerator("aries-rb"))
        model.infer(X)
    with pytest.raises(QBCompilerError, match="disposed"):
        model.infer(X)


def test_channel_last_models_take_chw_too(tmp_path: Path) -> None:
    builder = ProgramBuilder()
    image, out = builder.value((1, 4, 4, 3)), builder.value((1, 2, 2, 3))
    builder.input(image, 1.0, 0)
    builder.output(out, 1.0, 0)
    builder.command("max_pool2d", [image], out, MAX_POOL)
    builder.save(tmp_path / "m.mxq")
    model = Model(tmp_path / "m.mxq")
    model.launch(Accelerator())
    x = np.arange(48, dtype=np.float32).reshape(4, 4, 3) - 20
    assert np.array_equal(model.infer(x.transpose(2, 0, 1))[0], x[1::2, 1::2].transpose(2, 0, 1))


def test_config_setters_return_whether_they_took_effect() -> None:
    config = ModelConfig()
    assert config.get_core_mode() is CoreMode.Auto
    assert config.set_single_core_mode(2)
    assert not config.set_single_core_mode(9)
    assert (config.get_core_mode(), config.num_cores) == (CoreMode.Single, 2)
    assert config.set_multi_core_mode([0, 1])
    assert not config.set_multi_core_mode([2])
    assert config.set_global4_core_mode([1])
    assert config.set_global_core_mode()
    assert config.set_global8_core_mode()
    assert config.set_auto_core_mode()
    assert config.force_single_npu_bundle(-1)
    assert not config.force_single_npu_bundle(-2)
    assert config.set_async_pipeline_enabled(True)
    assert config.get_async_pipeline_enabled()
    assert not config.set_activation_slots(0)
    assert config.set_activation_slots(3)
    assert config.get_activation_slots() == 3


def test_config_getters_tell_what_was_set() -> None:
    config = ModelConfig()
    assert (config.get_num_cores(), config.get_core_ids(), config.get_forced_npu_bundle_index()) == (8, [], -1)
    assert config.set_single_core_mode(3)
    assert (config.get_num_cores(), config.get_core_ids()) == (3, [])
    assert config.set_single_core_mode(core_ids=["1:2", "0:0:3"])
    assert (config.get_num_cores(), config.get_core_ids()) == (2, ["1:2", "0:3"])
    assert config.set_multi_core_mode([1])
    assert (config.get_num_cores(), config.get_core_ids()) == (4, [])
    assert config.set_global4_core_mode()
    assert config.get_num_cores() == 8
    assert config.set_global8_core_mode()
    assert config.get_num_cores() == 8
    assert config.force_single_npu_bundle(2)
    assert config.get_forced_npu_bundle_index() == 2


def test_cores_of_other_devices_are_none_of_ours() -> None:
    config = ModelConfig()
    assert not config.set_single_core_mode(["1:0:0"])
    assert not config.set_multi_core_mode(["1:0"])
    assert config.get_core_mode() is CoreMode.Auto


def test_statuses(path: Path, tmp_path: Path) -> None:
    config = ModelConfig()
    config.set_global8_core_mode()
    cases = [
        (lambda: Model(path, config), 16),
        (lambda: Model(tmp_path / "absent.mxq"), 3),
        (lambda: Model(path).launch(Accelerator("regulus-rb")), 48),
        (lambda: Accelerator("unknown"), 48),
        (lambda: Accelerator(7), 48),
        (lambda: Accelerator("auto", 9), 48),
    ]
    (tmp_path / "broken.mxq").write_bytes(path.read_bytes()[:-1])
    cases.append((lambda: Model(tmp_path / "broken.mxq"), 20))
    for call, status in cases:
        with pytest.raises(QBCompilerError) as error:
            call()
        assert error.value.status == status  # type: ignore[attr-defined]


MISSING_CALLS = (
    *("infer_async", "infer_async_to_float", "infer_buffer", "infer_buffer_to_float", "infer_pinned_memory"),
    *("infer_npu_data", "acquire_input_buffer", "acquire_output_buffers", "release_buffer", "reposition_inputs"),
    *("reposition_outputs", "get_input_buffer_info", "get_output_buffer_info", "dump_cache_memory"),
    *("dump_cache_memory_to", "load_cache_memory", "load_cache_memory_from", "filter_cache_tail", "move_cache_tail"),
    *("get_cache_infos", "reset_cache_memory", "get_model_variant_handle"),
)


@pytest.mark.parametrize("name", MISSING_CALLS)
def test_what_is_missing_is_refused_by_name(model: Model, name: str) -> None:
    assert not hasattr(model, name)
    with pytest.raises(QBCompilerError, match=f"Model.{name} is not available") as error:
        getattr(model, name)
    assert error.value.code == "UNSUPPORTED_FEATURE"
    assert error.value.hint


def test_what_a_configuration_lacks_is_refused_by_name() -> None:
    config = ModelConfig()
    for name in ("include", "exclude_all_cores", "set_manual_mode", "get_core_allocation_policy", "schedule_policy"):
        with pytest.raises(QBCompilerError, match=f"ModelConfig.{name} is not available") as error:
            getattr(config, name)
        assert error.value.code == "UNSUPPORTED_FEATURE"
    assert not hasattr(config, "nonsense")
    assert copy.deepcopy(config) == config


def test_wrong_use_of_infer(model: Model) -> None:
    assert not hasattr(model, "nonsense")
    with pytest.raises(QBCompilerError, match="cache"):
        model.infer(X, cache_size=3)
    with pytest.raises(QBCompilerError, match="1 input, 2 were given"):
        model.infer([X, X])


def test_documented_arguments(model: Model) -> None:
    """Scripts name them, and pass them by position."""
    assert Accelerator(device_name="aries", dev_no=0).dev_no == 0
    chw, wanted = X.transpose(2, 0, 1), expected()
    for method, x, result in (
        (model.infer, X, wanted),
        (model.infer_hwc, X, wanted),
        (model.infer_chw, chw, wanted.transpose(2, 0, 1)),
    ):
        assert np.array_equal(method(x, None, 0, None)[0], result)
        assert np.array_equal(method(inputs=x, outputs=None, cache_size=0, params=None)[0], result)
        with pytest.raises(QBCompilerError, match="cache"):
            method(x, None, 1)
    for method, x in (
        (model.infer_to_float, X),
        (model.infer_hwc_to_float, X),
        (model.infer_chw_to_float, chw),
    ):
        assert method(x, cache_size=0, params=None)[0].dtype == np.float32
        with pytest.raises(QBCompilerError, match="cache"):
            method(x, params=[object()])


def test_data_types_are_names_and_members(model: Model) -> None:
    (found,) = model.get_model_input_data_type()
    assert found is DataType.Int8
    assert (found, str(found)) == ("Int8", "Int8")
    assert {"Float32", "Float16", "Int8", "Uint8", "BInt16"} <= {kind.name for kind in DataType}


def test_functions_and_classes_that_are_missing_say_so(tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: runtime.start_tracing_events(tmp_path / "trace.json"),
        runtime.stop_tracing_events,
        lambda: runtime.BatchParam(1, 0, 0),
        lambda: runtime.BatchParam(sequence_length=1, cache_size=0, cache_id=0),
        *(runtime.Future, runtime.Buffer, runtime.BufferInfo, runtime.CacheInfo, runtime.ModelVariantHandle),
    ]
    for call in calls:
        with pytest.raises(QBCompilerError, match="is not available") as error:
            call()
        assert error.value.code == "UNSUPPORTED_FEATURE"


def test_threads_take_turns(model: Model) -> None:
    """Calls of several threads give what each gives alone; one that comes after `dispose` is refused."""
    rng = np.random.default_rng(5)
    images = [rng.normal(0, 20, (6, 8, 4)).astype(np.float32) for _ in range(24)]
    alone = [model.infer(image)[0] for image in images]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda image: model.infer(image)[0], images * 4))
        assert all(np.array_equal(a, b) for a, b in zip(together, alone * 4, strict=True))
        model.dispose()
        with pytest.raises(QBCompilerError, match="disposed"):
            pool.submit(model.infer, images[0]).result()


def test_devices_and_log_levels() -> None:
    assert {"aries-rb", "regulus-ra", "regulus-rb", "regulus-rb-usb"} <= set(get_available_devices())
    assert len(Accelerator(0).get_available_cores()) == 8
    assert Accelerator("regulus-rb", 0).get_available_cores() == ["0:0:0"]
    set_log_level("warn")
    with pytest.raises(QBCompilerError):
        set_log_level("loud")
    with pytest.raises(QBCompilerError):
        Accelerator(-1)


def test_import_is_light_and_running_needs_no_ir(path: Path) -> None:
    code = (
        "import sys; import qbcompiler.runtime as r; assert 'numpy' not in sys.modules;"
        f"m = r.Model({str(path)!r}); m.launch(r.Accelerator()); import numpy; m.infer(numpy.zeros((6, 8, 4), 'f4'));"
        "assert not any(name.split('.')[0] == 'xdsl' or name.startswith('qbc.dialects') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_page_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text(encoding="utf-8")
    snippet = page.split("```python\n")[1].split("```")[0]
    path.rename(path.parent / "model.mxq")
    monkeypatch.chdir(path.parent)
    names: dict[str, object] = {}
    exec(snippet, names)
    result = names["result"]
    assert isinstance(result, np.ndarray)
    assert result.shape == (3, 4, 5)


def test_the_page_lists_all_statuses() -> None:
    from qbc.runtime.status import _NAMES

    page = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text(encoding="utf-8")
    assert all(f"| {int(status)} | {name} |" in page for status, name in _NAMES.items())
