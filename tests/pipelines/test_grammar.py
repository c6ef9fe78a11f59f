"""The pipeline grammar: what it accepts, that printing round-trips, and where mistakes are reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qbc.pipelines.grammar import ANCHORS, Nest, PassCall, Pipeline, PipelineError, parse_pipeline

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4}){0,3}", fullmatch=True)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.sampled_from(["1e5", "true"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=4).map(tuple))
OPTIONS = st.dictionaries(NAMES, VALUES, max_size=4).map(lambda options: tuple(options.items()))
CALLS = st.builds(PassCall, NAMES, OPTIONS)
ITEMS = st.recursive(
    CALLS, lambda inner: st.builds(Nest, st.sampled_from(ANCHORS), st.lists(inner, max_size=3).map(tuple)), max_leaves=8
)


@given(st.lists(ITEMS, max_size=4).map(tuple).map(Pipeline))
def test_printed_pipeline_parses_to_an_equal_one(pipeline: Pipeline) -> None:
    again = parse_pipeline(str(pipeline))
    assert again == pipeline
    # Equal values of different types (1, 1.0, True) must keep their types too.
    assert repr(again) == repr(pipeline)


@given(st.text(alphabet="ab-{}()[],=\"' \n1.", max_size=30))
def test_any_text_parses_or_gives_a_located_error(text: str) -> None:
    try:
        pipeline = parse_pipeline(text)
    except PipelineError as error:
        assert error.position is None or 0 <= error.position <= len(text)
        return
    assert parse_pipeline(str(pipeline)) == pipeline


@pytest.mark.parametrize(
    "flat, nested",
    [
        ("a,b", "builtin.module(a,b)"),
        ("a , b{x=1   y = 2}", "builtin.module(a,b{x=1 y=2})"),
        ("builtin.module(\n  func.func( a,\n b ),\n c )", "builtin.module(func.func(a,b),c)"),
        ("a{flag}", "builtin.module(a{flag=true})"),
        ("a{min_width=3}", "builtin.module(a{min-width=3})"),
        ("", "builtin.module()"),
        ("builtin.module(a),func.func(b)", "builtin.module(a,func.func(b))"),
        ("func.func(b),builtin.module(a,npu.program(c)),d", "builtin.module(func.func(b),a,npu.program(c),d)"),
        ("builtin.module(a),builtin.module()", "builtin.module(a)"),
        ("builtin.module(builtin.module(a))", "builtin.module(builtin.module(a))"),
    ],
)
def test_spellings(flat: str, nested: str) -> None:
    assert str(parse_pipeline(flat)) == nested


@pytest.mark.parametrize(
    "text, value",
    [
        ("1", 1),
        ("-7", -7),
        ("0x10", 16),
        ("1e-3", 0.001),
        ("1.0e-3", 0.001),
        (".5", 0.5),
        ("2.", 2.0),
        ("1E+2", 100.0),
        ("-inf", float("-inf")),
        ("true", True),
        ("none", None),
        ("/a/b.npy", "/a/b.npy"),
        ('"a b, {c}"', "a b, {c}"),
        ("'a \"b\"'", 'a "b"'),
        (r'"say \"no\""', 'say "no"'),
        ("conv,relu", ("conv", "relu")),
        ("[conv]", ("conv",)),
        ("[]", ()),
        ("1, 2", (1, 2)),
        ('"1"', "1"),
    ],
)
def test_values(text: str, value: object) -> None:
    (call,) = parse_pipeline(f"p{{x={text}}}").calls()
    (option,) = call.options
    assert option == ("x", value) and type(option[1]) is type(value)


@pytest.mark.parametrize(
    "text, position, message",
    [
        ("a,,b", 2, "expected a pass name"),
        ("a b", 2, "expected ',' or the end"),
        ("fnc.func(a)", 0, "did you mean 'func.func'"),
        ("a{x=}", 4, "expected a value"),
        ("a{x=1 x=2}", 6, "given twice"),
        ('a{x="b}', 4, "unterminated string"),
        ("func.func(a", 11, "expected ',' or ')'"),
        ("a)", 1, "expected ',' or the end"),
        ("a;b", 1, "unexpected character"),
        ("(" * 3, 0, "expected a pass name"),
    ],
)
def test_mistakes_are_located(text: str, position: int, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(text)
    assert caught.value.code == "PIPELINE_ERROR"
    assert caught.value.position == position
    assert message in caught.value.describe()
    assert caught.value.caret().splitlines()[1] == " " * position + "^"


def test_deep_nesting_is_refused_not_a_recursion_error() -> None:
    with pytest.raises(PipelineError, match="too deep"):
        parse_pipeline("builtin.module(" * 5000)
