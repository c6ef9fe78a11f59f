"""Configuration files: formats, and one error for whatever is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from qbc.calibration.files import read_list
from qbc.calibration.recipe import read_recipe
from qbc.config import CompileConfig
from qbc.config.files import write_config
from qbc.driver.files import read_text
from qbc.errors import QBCompilerError
from qbc.targets.loader import load_target, load_target_file
from tests.config.mutants import try_configurations, try_manifests


def test_json_and_yaml_are_the_same(tmp_path: Path) -> None:
    values = {"quantization": {"calibration": {"mode": 0}}, "savePaths": ["ü.mxq"]}
    (tmp_path / "a.json").write_text(json.dumps(values))
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "a.yml").write_text("calibration:\n  mode: 0\nsave_paths: ['ü.mxq']\n")
    first, *rest = [CompileConfig.from_file(tmp_path / f"a.{suffix}") for suffix in ("json", "yaml", "yml")]
    assert rest == [first, first]
    assert first.calibration.mode == 0


def test_an_empty_yaml_file_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("")
    assert CompileConfig.from_file(tmp_path / "a.yaml") == CompileConfig()


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.toml", b"", "no known suffix"),
        ("a.json", b"", "Expecting value"),
        ("a.json", b'{"bufferMode": 1, "bufferMode": 2}', "occurs twice"),
        ("a.json", b'{"bufferMode": NaN}', "NaN is not a number"),
        ("a.json", b"[1]", "must be a mapping"),
        ("a.json", b"[" * 100000, "nested too deeply"),
        ("a.json", b"\xff\xfe", "UTF-8"),
        ("a.yaml", b"a: &x [1]\nb: *x", "aliases"),
        ("a.yaml", b"bufferMode: 1\nbufferMode: 2", "occurs twice"),
        ("a.yaml", b"1: 2", "a key is not text"),
        ("a.yaml", b"? [a]\n: 1", "a key is not text"),
        ("a.yaml", b"a: !!python/object:os.system x", "could not determine a constructor"),
        ("a.yaml", b"{", "expected"),
        ("a.yaml", b'a: !!int ""', "does not fit its type"),
        ("a.yaml", b"a: !!timestamp x", "does not fit its type"),
        ("a.yaml", b"- a", "must be a mapping"),
        ("a.yaml", b"a: 2020-13-45", "month"),
        ("a.yaml", b"calibration: {method: {}}", "calibration.method"),
        ("a.yaml", b"bufferMod: 1", "did you mean 'bufferMode'"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(QBCompilerError) as caught:
        CompileConfig.from_file(path)
    assert message in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.code in ("CONFIG_ERROR", "ARGUMENT_ERROR")


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").mkdir()
    for name in ("none.yaml", "d.yaml"):
        with pytest.raises(QBCompilerError):
            CompileConfig.from_file(tmp_path / name)


def test_writing(tmp_path: Path) -> None:
    values = CompileConfig(buffer_mode=2).grouped()
    for name in ("sub/a.yaml", "sub/a.yml", "sub/a.json", "sub/a.txt"):
        write_config(tmp_path / name, values)
    assert json.loads((tmp_path / "sub/a.txt").read_text()) == values
    assert yaml.safe_load((tmp_path / "sub/a.yml").read_text()) == values
    (tmp_path / "file").write_text("")
    with pytest.raises(QBCompilerError, match=r"file/a\.json") as caught:
        write_config(tmp_path / "file" / "a.json", values)
    assert caught.value.code == "OUTPUT_WRITE_ERROR"


def test_damaged_files_are_valid_or_one_error(tmp_path: Path) -> None:
    valid, refused = try_configurations(tmp_path, seed=1, count=150)
    assert valid > 5 and refused > 50


def test_damaged_manifests_are_valid_or_one_error(tmp_path: Path) -> None:
    valid, refused = try_manifests(tmp_path, seed=1, count=150)
    assert valid > 5 and refused > 50


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path) -> None:
    """Editors of Windows begin UTF-8 files with one: configurations, presets, devices, lists, recipes, IR text."""
    marked = {
        "c.json": '{"bufferMode": 2}',
        "c.yaml": "bufferMode: 2",
        "p.yaml": "config: {bufferMode: 2}",
        "t.yaml": "extends: aries-rb.yaml",
        "l.txt": "# samples\nc.json",
        "r.yaml": "GetImage: {to_float32: true}",
        "m.mlir": "builtin.module {}",
    }
    for name, text in marked.items():
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    for config in (CompileConfig.from_file(tmp_path / "c.json"), CompileConfig.from_file(tmp_path / "c.yaml")):
        assert config.buffer_mode == 2
    assert CompileConfig.from_preset(str(tmp_path / "p.yaml")).buffer_mode == 2
    assert load_target_file(tmp_path / "t.yaml").modes == load_target("aries-rb").modes
    assert read_list(tmp_path / "l.txt") == [tmp_path / "c.json"]
    assert read_recipe(tmp_path / "r.yaml") == read_recipe({"GetImage": {"to_float32": True}})
    assert read_text(tmp_path / "m.mlir") == marked["m.mlir"]


def test_other_encodings_have_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("bufferMode: 2", encoding="utf-16")
    with pytest.raises(QBCompilerError) as caught:
        CompileConfig.from_file(tmp_path / "c.yaml")
    assert caught.value.hint == "save it as UTF-8"
