"""Configuration files: formats, and one error for whatever is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from qbc.config import CompileConfig
from qbc.config.files import write_config
from qbc.errors import QBCompilerError
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
