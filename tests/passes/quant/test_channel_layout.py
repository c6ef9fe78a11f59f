"""Where channels go when codes move, against numpy moving arrays of channel numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from qbc.dialects import quant
from qbc.dialects.quant.base import int_attr, ints_attr
from qbc.passes.quant.channel_layout import ChannelClasses, ChannelEncoding, channel_links, encodings_agree
from qbc.passes.quant.quant_output_scales import QuantOutputScales
from tests.support.calibrated_network import CalibratedNetwork, collected, row_type

Array = np.ndarray[Any, Any]
Move = Callable[[list[Array]], Array]


def moved(
    kind: type[quant.QuantOp], shapes: Sequence[Sequence[int]], move: Move, **properties: Any
) -> tuple[Operation, Array, list[Array]]:
    """Return an operation, what numpy makes of its operands, and the operands: the number of each channel."""
    block = Block(arg_types=[row_type(shape, "r") for shape in shapes])
    first = np.cumsum([0, *(shape[-1] for shape in shapes)])
    arrays = [np.broadcast_to(np.arange(shape[-1]) + at, shape) for shape, at in zip(shapes, first, strict=False)]
    result = move(arrays)
    op = kind.make(list(block.args), row_type(result.shape, "r"), properties, None)
    block.add_op(op)
    return op, result, arrays


CASES: dict[str, tuple[type[quant.QuantOp], list[tuple[int, ...]], Move, dict[str, Any]]] = {
    "split": (quant.ReshapeOp, [(1, 2, 2, 12)], lambda a: a[0].reshape(1, 2, 2, 3, 4), {}),
    "join": (quant.ReshapeOp, [(1, 2, 3, 4)], lambda a: a[0].reshape(1, 2, 12), {}),
    "odd": (quant.ReshapeOp, [(2, 2, 6)], lambda a: a[0].reshape(6, 4), {}),
    "rows": (quant.ReshapeOp, [(1, 4, 4, 5)], lambda a: a[0].reshape(1, 16, 5), {}),
    "swap": (quant.TransposeOp, [(1, 2, 3, 4)], lambda a: a[0].transpose(0, 2, 1, 3), {"permutation": (0, 2, 1, 3)}),
    "wide": (quant.ConcatOp, [(2, 3), (2, 5)], lambda a: np.concatenate(a, 1), {"axis": 1}),
    "long": (quant.ConcatOp, [(2, 3), (4, 3)], lambda a: np.concatenate(a, 0), {"axis": -2}),
    "part": (quant.SliceOp, [(4, 9)], lambda a: a[0][1:3, 2:8:3], {"starts": (1, 2), "ends": (3, 8), "steps": (1, 3)}),
    "repeat": (quant.ExpandOp, [(1, 3)], lambda a: np.broadcast_to(a[0], (4, 3)), {}),
    "spread": (quant.ExpandOp, [(2, 1)], lambda a: np.broadcast_to(a[0], (2, 5)), {}),
}


def attributes(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: int_attr(v) if isinstance(v, int) else ints_attr(v) for name, v in properties.items()}


@pytest.mark.parametrize("name", CASES)
def test_links_are_where_channels_go(name: str) -> None:
    kind, shapes, move, properties = CASES[name]
    op, result, arrays = moved(kind, shapes, move, **attributes(properties))
    links = channel_links(op)
    assert links is not None
    found = {
        (int(arrays[list(op.operands).index(source)][..., at].flat[0]), to)
        for source, at_source, target, at_target in links
        for at, to in zip(at_source, at_target, strict=True)
        if target is op.results[0]
    }
    flat = result.reshape(-1, result.shape[-1])
    assert found == {(int(flat[row, to]), to) for row in range(flat.shape[0]) for to in range(flat.shape[1])}


def test_a_transpose_of_the_channels_has_no_links() -> None:
    op, *_ = moved(quant.TransposeOp, [(2, 3)], lambda a: a[0].T, permutation=ints_attr((1, 0)))
    assert channel_links(op) is None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_encodings_agree_where_numpy_moves_scales_to_equal_ones(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind, shapes, move, properties = CASES[name]
    op, _, _ = moved(kind, shapes, move, **attributes(properties))
    scales = [rng.choice([1.0, 2.0], shape[-1]) for shape in shapes]
    result = move([np.broadcast_to(own, shape) for own, shape in zip(scales, shapes, strict=True)])
    wanted = result.reshape(-1, result.shape[-1])
    encodings = {value: ChannelEncoding("i8", tuple(own), 0) for value, own in zip(op.operands, scales, strict=True)}
    encodings[op.results[0]] = ChannelEncoding("i8", tuple(wanted[0]), 0)
    assert encodings_agree(op, encodings.get) == bool((wanted == wanted[0]).all())
    encodings[op.results[0]] = ChannelEncoding("i8", tuple(wanted[0]), 1)
    assert not encodings_agree(op, encodings.get)
    encodings[op.results[0]] = ChannelEncoding("i8", (*wanted[0][:-1], 3.0), 0)
    assert not encodings_agree(op, encodings.get)


def test_channels_of_a_class_are_found_from_both_ends() -> None:
    kind, shapes, move, properties = CASES["odd"]
    op, *_ = moved(kind, shapes, move, **attributes(properties))
    classes = ChannelClasses([op.operands[0], op.results[0]])
    for link in channel_links(op) or ():
        classes.link(*link)
    assert classes.numbered() == (2, {op.operands[0]: [0, 1, 0, 1, 0, 1], op.results[0]: [0, 1, 0, 1]})
    classes.join(op.results[0])
    assert classes.numbered() == (1, {op.operands[0]: [0] * 6, op.results[0]: [0] * 4})


def ranged(network: CalibratedNetwork) -> ModuleOp:
    from qbc.passes.quant.quant_assign_ranges import QuantAssignRanges

    QuantAssignRanges().run(network.module, network.ctx)
    return network.module


def test_an_output_of_an_addition_keeps_its_encoding_and_says_so() -> None:
    network = collected()
    before = str(ranged(network))
    QuantOutputScales(output=1).run(network.module, network.ctx)
    assert str(network.module) == before
    assert network.ctx.notices[-1] == "outputs that keep one scale for all channels: 'y' (add has one scale)"
    QuantOutputScales(output=0).run(network.module, network.ctx)
    assert str(network.module) == before


def test_an_output_that_the_graph_reads_keeps_its_encoding() -> None:
    network = collected()
    ranged(network)
    dequantize = next(op for op in network.module.walk() if isinstance(op, quant.DequantizeOp))
    dequantize.operands[0] = network.conv.results[0]
    before = str(network.module)
    for output in (1, 2):
        QuantOutputScales(output=output).run(network.module, network.ctx)
        assert network.ctx.notices[-1].endswith("'y' (hard_swish reads it in the graph)")
    assert str(network.module) == before
