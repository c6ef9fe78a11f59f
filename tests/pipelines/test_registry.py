"""Passes by name, their options, and completion of pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from qbc.passes.base import CompileContext, FunctionPass, ModulePass
from qbc.pipelines import registry
from qbc.pipelines.grammar import PassCall, PipelineError, parse_pipeline


@dataclass(frozen=True)
class Everything(ModulePass):
    """All option types."""

    name = "test-everything"
    count: int = 1
    ratio: float = 0.5
    fast: bool = False
    label: str = "x"
    names: tuple[str, ...] = ()
    limit: int | None = None
    mode: Literal["a", "b"] = "a"

    def run(self, op: Any, ctx: CompileContext) -> None:
        return None


@dataclass(frozen=True)
class InFunction(FunctionPass):
    name = "test-function"
    depth: int = 2

    def run(self, op: Any, ctx: CompileContext) -> None:
        return None


@dataclass(frozen=True)
class Needs(ModulePass):
    name = "test-needs"
    size: int

    def run(self, op: Any, ctx: CompileContext) -> None:
        if self.size:
            return None


def _build(text: str) -> Any:
    (call,) = parse_pipeline(text).calls()
    return registry.instantiate(call)


def test_options_get_their_types(register: Any) -> None:
    register(Everything)
    built = _build("test-everything{count=3 ratio=1 fast label=relu names=conv limit=none mode=b}")
    assert built == Everything(3, 1.0, True, "relu", ("conv",), None, "b")
    assert type(built.ratio) is float


@pytest.mark.parametrize(
    "text, message",
    [
        ("test-everything{count=1.5}", "option 'count' of pass 'test-everything' wants int, found 1.5"),
        ("test-everything{count=true}", "wants int"),
        ("test-everything{fast=1}", "wants bool"),
        ("test-everything{label=1}", "wants str"),
        ("test-everything{limit=a}", "wants int | none"),
        ("test-everything{mode=c}", "wants a | b"),
        ("test-everything{names=1,2}", "wants tuple of str"),
        ("test-everything{cout=1}", "no option 'cout' (did you mean 'count'?)"),
        ("test-needs", "needs option 'size'"),
        ("test-evrything", "unknown pass 'test-evrything'"),
    ],
)
def test_wrong_options_are_refused_by_name(register: Any, text: str, message: str) -> None:
    register(Everything, Needs)
    with pytest.raises(PipelineError) as caught:
        _build(text)
    assert message in caught.value.describe()


def test_call_of_is_the_inverse_of_instantiate(register: Any) -> None:
    register(Everything)
    instance = Everything(count=9, names=("a b", "c"), limit=4)
    text = str(registry.call_of(instance))
    assert _build(text) == instance
    assert "ratio=0.5" in text and "fast=false" in text


def test_completion_fills_options_and_nests_passes(register: Any) -> None:
    register(Everything, InFunction)
    done = registry.complete(parse_pipeline("test-function,test-function{depth=3}"))
    assert str(done) == "builtin.module(func.func(test-function{depth=2},test-function{depth=3}))"
    assert registry.complete(parse_pipeline(str(done))) == done


def test_a_module_pass_cannot_nest_in_a_function(register: Any) -> None:
    register(Everything)
    with pytest.raises(PipelineError, match="runs on builtin.module"):
        registry.complete(parse_pipeline("func.func(test-everything)"))


def test_every_pass_file_holds_its_pass() -> None:
    for cls in registry.all_passes():
        assert registry.pass_class(cls.name) is cls
        assert registry.instantiate(PassCall(cls.name)) is not None
        assert (cls.__doc__ or "").strip(), f"{cls.name} has no docstring"
        registry.option_infos(cls)


def _numbers() -> list[tuple[str, str]]:
    return [
        (cls.name, option.name)
        for cls in registry.all_passes()
        for option in registry.option_infos(cls)
        if option.type_text in ("int", "float") and option.name not in ("method", "mode", "tie-ratio", "sqnr")
    ]


@pytest.mark.parametrize("name, option", _numbers())
def test_numbers_of_passes_are_not_negative(name: str, option: str) -> None:
    with pytest.raises(PipelineError):
        registry.instantiate(PassCall(name, ((option, -1),)))
