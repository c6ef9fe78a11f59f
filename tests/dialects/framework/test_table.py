"""The checked-in operator table is what the onnx package says at the pinned opsets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import defs

from qbc.dialects.framework import ML_DOMAIN, ML_OPSET, OPS_BY_NAME, OPSET
from qbc.dialects.framework import table as table_module
from qbc.dialects.framework.generate import table_text
from qbc.dialects.framework.signature import signatures


def test_table_is_up_to_date() -> None:
    assert Path(table_module.__file__).read_text(encoding="utf-8") == table_text()


def test_every_operator_has_a_class() -> None:
    wanted = set()
    for schema in defs.get_all_schemas_with_history():
        pinned = {"": OPSET, ML_DOMAIN: ML_OPSET}.get(schema.domain)
        if pinned is None or schema.since_version > pinned:
            continue
        if not defs.get_schema(schema.name, pinned, schema.domain).deprecated:
            wanted.add(schema.name)
    assert wanted == set(OPS_BY_NAME)
    assert {cls.name for cls in OPS_BY_NAME.values()} == {f"framework.{name}" for name in wanted}


@pytest.mark.parametrize(
    "name", ["Conv", "Resize", "LSTM", "Loop", "Softmax", "HardSigmoid", "Constant", "LabelEncoder"]
)
def test_signature_equals_schema(name: str) -> None:
    signature = signatures()[name]
    schema = defs.get_schema(name, OPSET if signature.domain == "" else ML_OPSET, signature.domain)
    assert [p.name for p in signature.inputs] == [p.name for p in schema.inputs]
    assert [p.name for p in signature.outputs] == [p.name for p in schema.outputs]
    assert set(signature.attributes) == set(schema.attributes)
    for key, formal in schema.attributes.items():
        assert signature.attributes[key].kind == formal.type.name
        assert signature.attributes[key].required == formal.required
        if formal.default_value.name:
            value = onnx.helper.get_attribute_value(formal.default_value)
            value = value.decode() if isinstance(value, bytes) else value
            assert signature.attributes[key].default == value


def test_dialect_loads_without_onnx_and_numpy() -> None:
    code = (
        "import sys, qbc.dialects.framework as f; f.OPS_BY_NAME['Conv'];"
        "assert not {'onnx', 'numpy', 'torch'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
