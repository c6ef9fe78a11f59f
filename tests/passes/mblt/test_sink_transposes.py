"""Sinking transposes: outputs stay the same on random graphs, and known graphs end as they should."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue

from qbc.dialects.common.graph import source_layouts
from qbc.dialects.common.shapes import DYNAMIC
from qbc.dialects.mblt import (
    AddOp,
    ConcatOp,
    ConstantOp,
    GatherOp,
    LinearOp,
    MatmulOp,
    MaxPool2dOp,
    PadOp,
    ReduceMeanOp,
    ReluOp,
    ReshapeOp,
    ResizeOp,
    SliceOp,
    SoftmaxOp,
    TransposeOp,
    shape_of,
)
from qbc.passes.mblt.mblt_sink_transposes import MbltSinkTransposes, cost
from qbc.passes.mblt.mblt_sink_transposes.permutations import (
    compose,
    invert,
    moves_units_only,
    permuted,
    reshape_groups,
    through_reshape,
)
from tests.support.conversion import assert_same, execute
from tests.support.mblt_graphs import MbltGraph, op_names


def sink(graph: MbltGraph, *results: SSAValue) -> list[str]:
    """Finish a function, sink its transposes, compare outputs, and return the names of the ops that are left."""
    function = graph.finish(*results)
    feed = graph.samples()
    expected = execute(function, graph.context, feed)
    before = cost(function)
    MbltSinkTransposes().run(function, graph.context)
    graph.module.verify()
    assert cost(function) <= before
    assert_same(execute(function, graph.context, feed), expected)
    return op_names(function)


# --- algebra -----------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.permutations(range(4)), st.permutations(range(4)))
def test_permutations_compose_as_numpy_transposes(first: list[int], second: list[int]) -> None:
    data = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(data.transpose(compose(first, second)), data.transpose(first).transpose(second))
    np.testing.assert_array_equal(data.transpose(first).transpose(invert(first)), data)
    assert data.transpose(first).shape == permuted(data.shape, first)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_only_units_move_where_a_transpose_is_a_reshape(shape: list[int], data: st.DataObject) -> None:
    permutation = data.draw(st.permutations(range(len(shape))))
    array = np.arange(prod(shape)).reshape(shape)
    same = bool((array.transpose(permutation).reshape(-1) == array.reshape(-1)).all())
    if moves_units_only(shape, permutation):
        assert same


def factorizations(total: int, rank: int) -> list[tuple[int, ...]]:
    """All shapes of a rank with a given number of elements."""
    divisors = [size for size in range(1, total + 1) if total % size == 0]
    return [shape for shape in itertools.product(divisors, repeat=rank) if prod(shape) == total]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_transpose_swaps_with_a_reshape_without_a_change_of_values(data: st.DataObject) -> None:
    total = data.draw(st.sampled_from([12, 24, 30]))
    shape = data.draw(st.sampled_from(factorizations(total, data.draw(st.integers(1, 4)))))
    after = data.draw(st.sampled_from(factorizations(total, data.draw(st.integers(1, 4)))))
    permutation = data.draw(st.permutations(range(len(shape))))
    swapped = through_reshape(shape, permutation, after)
    if swapped is None:
        return
    array = np.arange(total).reshape(shape)
    expected = array.transpose(permutation).reshape(after)
    np.testing.assert_array_equal(array.reshape(swapped[0]).transpose(swapped[1]), expected)


def test_groups_of_a_reshape() -> None:
    groups = reshape_groups((2, 1, 6, 4), (2, 3, 8, 1))
    assert groups is not None
    assert [(group.before, group.after) for group in groups] == [
        ((0,), (0,)),
        ((1,), ()),
        ((2, 3), (1, 2)),
        ((), (3,)),
    ]
    assert through_reshape((1, 4, 5, 3), (0, 3, 1, 2), (1, 60)) is None
    assert through_reshape((1, 4, 5, 3), (0, 3, 1, 2), (1, 3, 20)) == ((1, 20, 3), (0, 2, 1))


# --- known graphs ------------------------------------------------------------------------------------------------

TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def pool(graph: MbltGraph, value: SSAValue) -> SSAValue:
    """A layout-sensitive op."""
    return graph.op(MaxPool2dOp, value, kernel=[1, 1])


def test_a_broadcast_constant_is_transposed_at_compile_time() -> None:
    graph = MbltGraph()
    x = pool(graph, graph.input([1, 4, 5, 3]))
    first = graph.op(TransposeOp, x, permutation=TO_FIRST)
    shifted = graph.op(AddOp, first, graph.constant(graph.random.standard_normal((1, 3, 1, 5))))
    back = graph.op(TransposeOp, shifted, permutation=TO_LAST)
    assert sink(graph, pool(graph, back)) == ["max_pool2d", "add", "max_pool2d"]


def test_a_squeezed_branch_joins_by_a_reshape() -> None:
    graph = MbltGraph()
    x = pool(graph, graph.input([1, 4, 5, 3]))
    first = graph.op(TransposeOp, x, permutation=TO_FIRST)
    mean = graph.op(ReduceMeanOp, first, axes=[2, 3], keep_dims=False)
    scale = graph.op(ReshapeOp, graph.op(LinearOp, mean, weight=graph.weight(3, 3)), result_type=tensor(1, 3, 1, 1))
    joined = graph.op(AddOp, first, scale)
    last = graph.op(TransposeOp, joined, permutation=TO_LAST)
    names = sink(graph, pool(graph, last))
    assert names == ["max_pool2d", "reduce_mean", "linear", "reshape", "add", "max_pool2d"]


def tensor(*shape: int) -> TensorType[Attribute]:
    """An f32 tensor type."""
    return TensorType(f32, list(shape))


def test_a_flatten_before_linear_layers_moves_into_their_weights() -> None:
    graph = MbltGraph()
    x = pool(graph, graph.input([2, 4, 5, 3]))
    first = graph.op(TransposeOp, x, permutation=TO_FIRST)
    flat = graph.op(ReshapeOp, first, result_type=tensor(2, 60))
    head = graph.op(LinearOp, flat, weight=graph.weight(7, 60))
    other = graph.op(LinearOp, graph.op(ReluOp, flat), weight=graph.weight(2, 60))
    assert sink(graph, head, other) == ["max_pool2d", "reshape", "linear", "relu", "linear"]


def test_a_flatten_with_another_user_keeps_its_transpose() -> None:
    graph = MbltGraph()
    x = pool(graph, graph.input([2, 4, 5, 3]))
    first = graph.op(TransposeOp, x, permutation=TO_FIRST)
    flat = graph.op(ReshapeOp, first, result_type=tensor(2, 60))
    head = graph.op(LinearOp, flat, weight=graph.weight(7, 60))
    assert "transpose" in sink(graph, head, graph.op(SoftmaxOp, flat, axis=1))


def test_a_long_chain_between_flatten_and_linear_layer() -> None:
    graph = MbltGraph()
    value = graph.op(TransposeOp, graph.input([2, 2, 3, 4]), permutation=[0, 3, 1, 2])
    value = graph.op(ReshapeOp, value, result_type=tensor(2, 24))
    for _ in range(1500):
        value = graph.add(ReluOp.of(value), "relu")
    names = sink(graph, graph.op(LinearOp, value, weight=graph.weight(3, 24)))
    assert names == ["reshape", *["relu"] * 1500, "linear"]


def test_transposes_of_several_unknown_sizes_do_not_become_reshapes() -> None:
    graph = MbltGraph()
    value = graph.op(ReluOp, graph.input([DYNAMIC, 1, DYNAMIC]))
    moved = graph.op(TransposeOp, value, permutation=[1, 0, 2])
    assert sink(graph, graph.op(SoftmaxOp, moved, axis=2)) == ["relu", "softmax", "transpose"]


def test_a_linear_layer_before_a_map_takes_the_transpose() -> None:
    graph = MbltGraph()
    linear = graph.op(LinearOp, graph.input([2, 7]), weight=graph.weight(60, 7), bias=graph.weight(60))
    maps = graph.op(ReshapeOp, linear, result_type=tensor(2, 3, 4, 5))
    last = graph.op(TransposeOp, maps, permutation=TO_LAST)
    assert sink(graph, pool(graph, last)) == ["linear", "reshape", "max_pool2d"]


def test_a_linear_layer_with_another_user_keeps_its_weight() -> None:
    graph = MbltGraph()
    linear = graph.op(LinearOp, graph.input([2, 7]), weight=graph.weight(60, 7))
    maps = graph.op(ReshapeOp, linear, result_type=tensor(2, 3, 4, 5))
    last = graph.op(TransposeOp, maps, permutation=TO_LAST)
    assert "transpose" in sink(graph, pool(graph, last), graph.op(SoftmaxOp, linear, axis=1))


def test_an_argument_behind_elementwise_ops_becomes_channel_last() -> None:
    graph = MbltGraph()
    x = graph.input([1, 3, 4, 5])
    shifted = graph.op(AddOp, x, graph.constant(graph.random.standard_normal((1, 3, 1, 1))))
    scaled = graph.op(ReluOp, shifted)
    for_pool = graph.op(TransposeOp, scaled, permutation=TO_LAST)
    for_other = graph.op(TransposeOp, graph.op(SoftmaxOp, scaled, axis=1), permutation=TO_LAST)
    names = sink(graph, pool(graph, for_pool), pool(graph, for_other))
    assert "transpose" not in names
    function = next(op for op in graph.module.ops)
    assert source_layouts(function.properties["arg_attrs"], 1) == ["nchw"]  # type: ignore[arg-type]


def test_two_branches_that_disagree_keep_one_transpose() -> None:
    graph = MbltGraph()
    x = pool(graph, graph.input([1, 4, 5, 3]))
    first = graph.op(TransposeOp, x, permutation=TO_FIRST)
    left, right = graph.op(ReluOp, first), graph.op(SoftmaxOp, first, axis=2)
    product = graph.op(MatmulOp, left, right, transpose_b=True)
    assert sink(graph, product).count("transpose") == 1


def test_a_map_of_one_channel_is_absorbed_as_a_layout() -> None:
    graph = MbltGraph()
    x = graph.op(TransposeOp, graph.input([1, 1, 6, 7]), permutation=TO_LAST)
    y = graph.op(TransposeOp, pool(graph, x), permutation=TO_FIRST)
    assert sink(graph, y) == ["max_pool2d"]
    function = next(op for op in graph.module.ops)
    assert source_layouts(function.properties["arg_attrs"], 1) == ["nchw"]  # type: ignore[arg-type]
    assert source_layouts(function.properties["res_attrs"], 1) == ["nchw"]  # type: ignore[arg-type]


@pytest.mark.parametrize("permutation", list(itertools.permutations(range(4))))
def test_every_permutation_goes_through_the_axes_of_all_movable_ops(permutation: tuple[int, ...]) -> None:
    graph = MbltGraph()
    x = graph.input([2, 3, 4, 5])
    y = graph.op(TransposeOp, x, permutation=permutation)
    sizes = list(shape_of(y))
    ends = [size if axis != 2 else size - 1 for axis, size in enumerate(sizes)]
    picked = graph.add(ConstantOp.of_value(graph.blob(np.array([[1, 0], [0, 1]], np.int32))))
    results = [
        graph.op(SliceOp, y, starts=[0, 1, 0, 0], ends=ends, steps=[1, 1, 1, 2]),
        graph.op(PadOp, y, before=[0, 1, 0, 2], after=[1, 0, 0, 0], mode="edge"),
        graph.op(ConcatOp, y, y, axis=1),
        graph.op(SoftmaxOp, y, axis=2),
        graph.op(ReduceMeanOp, y, axes=[0, 2], keep_dims=False),
        graph.op(ReduceMeanOp, y, axes=[1], keep_dims=True),
        graph.op(GatherOp, y, picked, axis=1),
    ]
    sink(graph, *results)


# --- random graphs -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_graphs_keep_their_outputs(data: st.DataObject) -> None:
    graph = MbltGraph(seed=data.draw(st.integers(0, 1000)))
    shape = [data.draw(st.sampled_from([1, 2])), *(data.draw(st.integers(1, 4)) for _ in range(3))]
    values = [graph.input(shape), graph.input(shape)]
    for _ in range(data.draw(st.integers(3, 12))):
        values.append(random_op(graph, values, data))
    sink(graph, *values[-data.draw(st.integers(1, 3)) :])


KINDS = ["transpose"] * 4 + [
    "relu",
    "constant",
    "join",
    "concat",
    "mean",
    "slice",
    "map",
    "reshape",
    "linear",
    "softmax",
]


def random_op(graph: MbltGraph, values: list[SSAValue], data: st.DataObject) -> SSAValue:
    """Append one op on earlier values (recent ones are likelier)."""
    value = values[-data.draw(st.integers(1, min(4, len(values))))]
    shape = shape_of(value)
    rank = len(shape)
    kind = data.draw(
        st.sampled_from(["transpose"] * 3 + ["relu", "constant", "join", "concat", "mean", "slice", "map"])
    )
    kind = data.draw(st.sampled_from([kind, "reshape", "linear", "softmax"]))
    axis = data.draw(st.integers(0, rank - 1))
    if kind == "transpose":
        return graph.op(TransposeOp, value, permutation=data.draw(st.permutations(range(rank))))
    if kind == "constant":
        sizes = [size if data.draw(st.booleans()) else 1 for size in shape]
        return graph.op(AddOp, value, graph.constant(graph.random.standard_normal(sizes)))
    if kind == "join":
        equal = [other for other in values if shape_of(other) == shape]
        return graph.op(AddOp, value, data.draw(st.sampled_from(equal)))
    if kind == "concat":
        return graph.op(ConcatOp, value, value, axis=axis)
    if kind == "mean" and rank > 2:
        return graph.op(ReduceMeanOp, value, axes=[axis], keep_dims=data.draw(st.booleans()))
    if kind == "slice":
        starts = [shape[axis] // 2 if index == axis else 0 for index in range(rank)]
        return graph.op(SliceOp, value, starts=starts, ends=list(shape), steps=[1] * rank)
    if kind == "map" and rank == 4:
        return graph.op(ResizeOp, value, mode="nearest", coordinate_mode="asymmetric", scales=[2.0, 1.0])
    if kind == "reshape":
        choices = [entry for count in (2, 3, 4) for entry in factorizations(prod(shape), count)]
        return graph.op(ReshapeOp, value, result_type=tensor(*data.draw(st.sampled_from(choices))))
    if kind == "linear":
        return graph.op(LinearOp, value, weight=graph.weight(3, shape[-1]), bias=graph.weight(3))
    if kind == "softmax":
        return graph.op(SoftmaxOp, value, axis=axis)
    return graph.op(ReluOp, value)
