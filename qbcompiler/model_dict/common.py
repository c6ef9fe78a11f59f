"""The objects that a parsed graph is shown as: subgraphs, operators, activations, weights.

They are a view of a `.mblt`: reading them changes nothing, and the graph cannot be edited through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from qbc.errors import QBCompilerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.driver.inspect import Opened

# Published layer types beside those of the table of operations.
_OTHER_TYPES = """
    Input Output DeviceBridge SubgraphCall DepthwiseConvolution GroupConvolution Convolution3d GlobalAveragePooling
    Einsum AddPartial AddingConstant MultiplyConstant SubConstant DivConstant GLU Identity LogSigmoid QuickGelu RelShift
    Selu Softsign Celu Hardtanh Hardshrink Softshrink Logit InverseSigmoid RmsNormalization GroupNormalization
    GlobalResponseNormalization L1Normalization L2Normalization SumNormalization Rstd MeanCentering ReduceProd ReduceRMS
    MaskSoftmax Crop DynamicSliceInputConst ReshapeV2 Unsqueeze HeaderView HeaderViewRevert OrderedPatchify
    StaggeredPadding GridSample GatherElements ScatterND Shape TopKValues TopKIndices NonMaxSuppression MaskedFill LSTM
    RNN GRU StatefulLSTMWrapper StatefulRNNWrapper StatefulGRUWrapper StatefulAttentionMaskWrapper
    StatefulKVCacheWrapper StatefulCachedStack StatefulRoPEWrapper RotaryEmbedding MoeDispatcher MoeAggregator
    MeloTTSPiecewiseRationalQuadraticTransform Requantize
"""


@cache
def layer_type_names() -> frozenset[str]:
    """Return all published layer types."""
    from qbc.dialects.mblt.layer_types import LAYER_TYPES

    return frozenset({*LAYER_TYPES.values(), *_OTHER_TYPES.split()})


class _LayerTypes(type):
    """Makes every published type an attribute of the class: `LayerType.Softmax`."""

    def __getattr__(cls, name: str) -> LayerType:
        if name not in layer_type_names():
            raise AttributeError(f"{name!r} is no published layer type")
        return LayerType(name)

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *layer_type_names()})


class LayerType(str, metaclass=_LayerTypes):
    """The published type of a layer: a text that has `name` and `value` as members of enumerations do.

    An operator that did not convert has its name in the source model as its type.
    """

    @property
    def name(self) -> str:
        """The text itself."""
        return str(self)

    @property
    def value(self) -> str:
        """The text itself."""
        return str(self)


class DataFormat(Enum):
    """The order of the axes of an activation. Parsed graphs are channel-last; NCHW is there to compare with."""

    ND = "ND"
    NWC = "NWC"
    NHWC = "NHWC"
    NDHWC = "NDHWC"
    NCHW = "NCHW"


CHANNEL_LAST = {3: DataFormat.NWC, 4: DataFormat.NHWC, 5: DataFormat.NDHWC}


class Activation:
    """A value of a graph: `name` (of its layer), `shape` (None for unknown sizes), `dtype`, `dataformat`."""

    def __init__(self, name: str, shape: tuple[int | None, ...], dtype: str) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype

    @property
    def dataformat(self) -> DataFormat:
        """The order of the axes. Assigning the one it has does nothing, another one is UNSUPPORTED_FEATURE."""
        return CHANNEL_LAST.get(len(self.shape), DataFormat.ND)

    @dataformat.setter
    def dataformat(self, wanted: DataFormat) -> None:
        if wanted is self.dataformat:
            return
        raise QBCompilerError(
            f"activation {self.name!r} is {self.dataformat.value}, it cannot become {getattr(wanted, 'value', wanted)}",
            code="UNSUPPORTED_FEATURE",
            hint="the compiler chooses the layouts; leave them as they are",
        )

    def __repr__(self) -> str:
        dims = "x".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"Activation({self.name!r}, {dims}, {self.dtype}, {self.dataformat.value})"


@dataclass(frozen=True)
class OperatorOptions:
    """The values that an operator reads and makes, as numbers of activations."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Operator:
    """One layer of a graph; `weights` gives for each of its constants the key in the WeightDict."""

    name: str
    layertype: LayerType
    options: OperatorOptions
    weights: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[int, ...]:
        """Numbers of the activations that it reads."""
        return self.options.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Numbers of the activations that it makes."""
        return self.options.outputs


@dataclass(frozen=True)
class Subgraph:
    """A graph: its layers in order, and the activations that enter and leave it.

    Each input is made by a layer of type Input and each output by one of type Output, which have the names of the
    source model. `activations[number]` is the activation of a number.
    """

    name: str
    operators: list[Operator] = field(default_factory=list)
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    activations: tuple[Activation, ...] = ()

    def sort_operators(self) -> None:
        """Do nothing: layers stand after those that they depend on."""


class WeightDict(Mapping[str, Any]):
    """The constants of a graph by key, `LAYER.PROPERTY`; arrays are read-only and read when they are asked for."""

    def __init__(self, readers: Mapping[str, Callable[[], npt.NDArray[np.generic]]] | None = None) -> None:
        self._readers = dict(readers or {})

    def __getitem__(self, key: str) -> npt.NDArray[np.generic]:
        return self._readers[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)


@dataclass(frozen=True, repr=False)
class ModelDict:
    """A parsed model: `subgraphs`, and the names of its `inputs` and `outputs` in their order."""

    subgraphs: list[Subgraph]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opened: Opened

    def __repr__(self) -> str:
        layers = sum(len(graph.operators) for graph in self.subgraphs)
        return f"ModelDict(inputs={list(self.inputs)}, outputs={list(self.outputs)}, layers={layers})"
