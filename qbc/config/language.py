"""Sections for language models: KV cache lengths, experts, equivalent transformations."""

from typing import Literal

from pydantic import Field, model_validator

from qbc.config.calibration import Count, CountOrZero, NotNegative
from qbc.config.section import ConfigSection, PathText


class LlmCalibration(ConfigSection):
    """How a language model is calibrated."""

    use_full_seq_length: bool = False
    num_samples: Count = 128
    chunk_length: CountOrZero = 0
    activation_cache_path: PathText = ""
    activation_cache_dtype: Literal["bf16", "fp32"] = "bf16"
    resume: bool = True


class LlmRuntime(ConfigSection):
    """How a language model is run."""

    batch_size: Count = 1
    npu_core_ids: list[int] = Field(default_factory=lambda: [0])
    dynamic_rope: bool = False
    dynamic_mask: bool = False


class LlmDebug(ConfigSection):
    """Checks of a compiled language model."""

    perplexity: bool = False
    perplexity_text: str = ""
    max_tokens: Count = 512
    generate: bool = False
    generate_prompt: str = ""
    generate_tokens: Count = 16
    dump_blocks: list[int] = Field(default_factory=list)
    dump_path: PathText = "llm_debug"
    compare_kv_cache: bool = False
    greedy_agreement: bool = True


class LlmAttributes(ConfigSection):
    """Lengths and settings of a language model."""

    Calibration = LlmCalibration
    Runtime = LlmRuntime
    Debug = LlmDebug

    max_sequence_length: Count = Field(default=4096, description="tokens of one call")
    max_cache_length: Count = Field(default=4096, description="tokens that the cache holds")
    max_data_length: Count = Field(default=4096, description="tokens of one call over all requests")
    max_core_data_length: Count = Field(default=128, description="tokens of one request on one core and call")
    npu_parallel_degree: Count = 1
    calibration: LlmCalibration = Field(default_factory=LlmCalibration)
    runtime: LlmRuntime = Field(default_factory=LlmRuntime)
    debug: LlmDebug = Field(default_factory=LlmDebug)

    @model_validator(mode="after")
    def _cache_is_longest(self) -> "LlmAttributes":
        if self.max_cache_length < self.max_sequence_length:
            raise ValueError("maxCacheLength must not be smaller than maxSequenceLength")
        return self


class LlmConfig(ConfigSection):
    """Language models with a KV cache."""

    Attributes = LlmAttributes

    apply: bool = False
    attributes: LlmAttributes = Field(default_factory=LlmAttributes)


class RouterBits(ConfigSection):
    """Lower bounds of the router's bits."""

    weight: Literal[8, 16] = 8
    activation: Literal[8, 16] = 16


class MoeAttributes(ConfigSection):
    """How experts are chosen while calibrating."""

    selection: Literal["routed", "all", "balanced"] = "balanced"
    min_tokens_per_expert: CountOrZero = 0
    hessian_weight: Literal["router", "uniform"] = "router"
    num_experts: CountOrZero = 0
    expert_ids: list[int] = Field(default_factory=list)
    share_expert_scale: bool = False
    router_bits: RouterBits = Field(default_factory=RouterBits)
    max_router_flip: NotNegative = 0.02


class MoeConfig(ConfigSection):
    """Mixtures of experts."""

    Attributes = MoeAttributes

    apply: bool = False
    attributes: MoeAttributes = Field(default_factory=MoeAttributes)


class Transformation(ConfigSection):
    """An equivalent transformation that is on or off."""

    apply: bool = False


class LearnedTransformation(Transformation):
    """An equivalent transformation whose matrix may be learned."""

    learn: bool = False


class NormConvTransformation(LearnedTransformation):
    """Fold the scale of a normalization into the linear layer after it."""


class QkTransformation(Transformation):
    """Rebalance queries against keys."""


class UdTransformation(LearnedTransformation):
    """Rebalance up and down projection."""

    smoothing_factor: NotNegative = 0.5


class VoTransformation(Transformation):
    """Rebalance value and output projection."""


class SpinR1Transformation(Transformation):
    """Rotate the residual stream."""


class SpinR2Transformation(LearnedTransformation):
    """Rotate the heads of each layer."""


class OptimizeFfnTransformation(Transformation):
    """Restructure feed-forward layers."""

    ch_per_ffn: int = -1


class HeadOutChRotationTransformation(Transformation):
    """Rotate the output of a vision encoder by the matrix of the language model."""

    matrix_path: PathText = ""


class EquivalentTransformationConfig(ConfigSection):
    """Rewrites that keep the float result and make quantization easier."""

    NormConv = NormConvTransformation
    Qk = QkTransformation
    QK = QkTransformation
    Ud = UdTransformation
    UD = UdTransformation
    Vo = VoTransformation
    VO = VoTransformation
    SpinR1 = SpinR1Transformation
    SpinR2 = SpinR2Transformation
    QkRotation = Transformation
    FeedForwardMultiLut = Transformation
    FlattenQuant = LearnedTransformation
    OptimizeFfn = OptimizeFfnTransformation
    OptimizeFFN = OptimizeFfnTransformation
    HeadOutChRotation = HeadOutChRotationTransformation

    norm_conv: NormConvTransformation = Field(default_factory=NormConvTransformation, alias="NormConv")
    qk: QkTransformation = Field(default_factory=QkTransformation, alias="QK")
    ud: UdTransformation = Field(default_factory=UdTransformation, alias="UD")
    vo: VoTransformation = Field(default_factory=VoTransformation, alias="VO")
    spin_r1: SpinR1Transformation = Field(default_factory=SpinR1Transformation, alias="SpinR1")
    spin_r2: SpinR2Transformation = Field(default_factory=SpinR2Transformation, alias="SpinR2")
    qk_rotation: Transformation = Field(default_factory=Transformation, alias="QkRotation")
    feed_forward_multi_lut: Transformation = Field(default_factory=Transformation, alias="FeedForwardMultiLut")
    flatten_quant: LearnedTransformation = Field(default_factory=LearnedTransformation, alias="FlattenQuant")
    optimize_ffn: OptimizeFfnTransformation = Field(default_factory=OptimizeFfnTransformation, alias="OptimizeFFN")
    head_out_ch_rotation: HeadOutChRotationTransformation = Field(
        default_factory=HeadOutChRotationTransformation, alias="HeadOutChRotation"
    )
    seed: CountOrZero = 0
    apply_hadamard_rotation_matrix: bool = True
