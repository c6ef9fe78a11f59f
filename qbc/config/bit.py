"""Section `bit`: the width of weights and activations."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import Field, model_validator

from qbc.config.calibration import CountOrZero, Share
from qbc.config.section import ConfigSection, Moved, PathText

WeightBits = Literal[4, 8, 16]
ActivationBits = Literal[8, 16]
Bits = TypeVar("Bits", WeightBits, ActivationBits)

_LISTS = "lists of layers are one section"


class _FeedForward(ConfigSection, Generic[Bits]):
    """Bits of the three layers of a feed-forward block; one number means all three."""

    up: Bits = 8
    gate: Bits = 8
    down: Bits = 8

    @model_validator(mode="before")
    @classmethod
    def _one_number_for_all(cls, data: Any) -> Any:
        if isinstance(data, int) and not isinstance(data, bool):
            return {"up": data, "gate": data, "down": data}
        return data


class FeedForwardWeight(_FeedForward[WeightBits]):
    """Weight bits of the feed-forward layers."""


class FeedForwardActivation(_FeedForward[ActivationBits]):
    """Activation bits of the feed-forward layers."""


class TransformerWeight(ConfigSection):
    """Weight bits by role."""

    query: WeightBits = 8
    key: WeightBits = 8
    value: WeightBits = 8
    output: WeightBits = 8
    head: WeightBits = 8
    router: WeightBits = 8
    ffn: FeedForwardWeight = Field(default_factory=FeedForwardWeight)


class TransformerActivation(ConfigSection):
    """Activation bits by role."""

    query: ActivationBits = 8
    key: ActivationBits = 8
    value: ActivationBits = 8
    output: ActivationBits = 8
    head: ActivationBits = 8
    router: ActivationBits = 8
    ffn: FeedForwardActivation = Field(default_factory=FeedForwardActivation)


class MixedPrecisionActivation(ConfigSection):
    """Mixed precision of activations."""

    apply: bool = False


class MixedPrecisionConfig(ConfigSection):
    """Choice of weight bits by importance."""

    apply: bool = Field(default=False, description="choose bits by importance")
    bit_2: Share | Literal[0] = Field(default=0, alias="bit_2", description="share of layers with 2 bits")
    bit_4: Share | Literal[0] = Field(default=0, alias="bit_4", description="share of layers with 4 bits")
    bit_8: Share | Literal[0] = Field(default=1.0, alias="bit_8", description="share of layers with 8 bits")
    prune: bool | float = Field(default=False, description="leave out unimportant weights")
    importance_threshold_low: float = Field(default=0.0, alias="importance_threshold_low")
    importance_threshold_high: float = Field(default=0.0, alias="importance_threshold_high")
    activation: MixedPrecisionActivation = Field(default_factory=MixedPrecisionActivation)


class TransformerBits(ConfigSection):
    """Bits by the role of a layer in a transformer."""

    Weight = TransformerWeight
    Activation = TransformerActivation
    MixedPrecision = MixedPrecisionConfig

    weight: TransformerWeight = Field(default_factory=TransformerWeight)
    activation: TransformerActivation = Field(default_factory=TransformerActivation)
    mixed_precision: MixedPrecisionConfig = Field(default_factory=MixedPrecisionConfig)


class BitLayerOverrides(ConfigSection):
    """Layers, by name or glob, with a width of their own."""

    activation_16bits: list[str] = Field(
        default_factory=list, alias="activation16Bits", description="layers whose results get 16 bits"
    )
    weight_16bits: list[str] = Field(default_factory=list, alias="weight16Bits", description="16-bit weights")
    weight_8bits: list[str] = Field(default_factory=list, alias="weight8Bits", description="8-bit weights")


class SaveInfoConfig(ConfigSection):
    """Where the chosen widths are written."""

    save_path: PathText = Field(default="", description="JSON file with the width of each layer")


class BitConfig(ConfigSection):
    """The width of weights and activations; 8 bits are the default."""

    Transformer = TransformerBits
    LayerOverrides = BitLayerOverrides
    SaveInfo = SaveInfoConfig

    transformer: TransformerBits = Field(default_factory=TransformerBits)
    layer_overrides: BitLayerOverrides = Field(default_factory=BitLayerOverrides)
    save_info: SaveInfoConfig = Field(default_factory=SaveInfoConfig)
    kv_cache: ActivationBits = Field(default=8, description="bits of the key-value cache")
    group_size: CountOrZero = Field(default=0, description="weights that share a scale (0: a whole output channel)")
    second_level_scale: bool = Field(default=True, description="integer scales of groups under one float scale")

    moved = {
        "activation_16bits": Moved("layer_overrides.activation_16bits", "1.1", _LISTS),
        "activation16Bits": Moved("layer_overrides.activation_16bits", "1.1", _LISTS),
        "weight_16bits": Moved("layer_overrides.weight_16bits", "1.1", _LISTS),
        "weight16Bits": Moved("layer_overrides.weight_16bits", "1.1", _LISTS),
        "weight_8bits": Moved("layer_overrides.weight_8bits", "1.1", _LISTS),
        "weight8Bits": Moved("layer_overrides.weight_8bits", "1.1", _LISTS),
    }
