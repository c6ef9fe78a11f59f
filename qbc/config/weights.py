"""Sections that choose weight codes: Hessian-based quantization, weight scales, bias correction, training, sources."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from qbc.config.calibration import Count, CountOrZero, NotNegative, Positive, Share
from qbc.config.section import ConfigSection, Moved, PathText


class HessianQuantAttributes(ConfigSection):
    """Settings of the solver."""

    act_order: bool = Field(default=True, description="columns in the order of their curvature")
    block_size: Count = Field(default=256, description="columns a block")
    perc_damp: NotNegative = Field(default=0.01, description="damping, share of the mean diagonal")
    alpha: NotNegative = Field(default=0.25, description="strength for asymmetric_causal and rescomp")


class HessianQuantConfig(ConfigSection):
    """Weight codes chosen layer by layer with second-order statistics of the inputs."""

    Attributes = HessianQuantAttributes

    apply: bool = False
    hessian_dtype: Literal["fp32", "bf16"] = Field(default="fp32", description="type of the accumulated matrix")
    solver: Literal["symmetric", "asymmetric_causal", "asymmetric_refit"] = "symmetric"
    rescomp: bool = False
    attributes: HessianQuantAttributes = Field(default_factory=HessianQuantAttributes)
    refit_ridge: list[float] = Field(default=[0.01, 0.1, 1.0], description="candidates of the refit's regularization")
    centered: bool = Field(default=True, description="subtract the mean input")
    group_size: CountOrZero = Field(default=0, description="weights that share a scale (0: a whole output channel)")
    positions_per_sample: Count = Field(default=1024, description="positions of a feature map that are used")

    @model_validator(mode="after")
    def _groups_need_the_symmetric_solver(self) -> "HessianQuantConfig":
        if self.group_size and (self.solver != "symmetric" or self.rescomp):
            raise ValueError("groupSize needs the solver symmetric and rescomp false")
        return self

    moved = {
        "accumulation_device": Moved(None, "1.4", "the matrix is kept where the layer is computed"),
        "act_order": Moved("attributes.act_order", "1.3", "settings of the solver are attributes"),
        "block_size": Moved("attributes.block_size", "1.3", "settings of the solver are attributes"),
        "perc_damp": Moved("attributes.perc_damp", "1.3", "settings of the solver are attributes"),
        "percdamp": Moved("attributes.perc_damp", "1.3", "settings of the solver are attributes"),
    }


class SearchWeightScaleTransformer(ConfigSection):
    """Roles whose weight scales are searched."""

    query: bool = False
    key: bool = False
    value: bool = False
    out: bool = False
    ffn: bool = False


class SearchWeightScaleConfig(ConfigSection):
    """Search of weight scales below the largest weight."""

    Transformer = SearchWeightScaleTransformer

    apply: bool = False
    transformer: SearchWeightScaleTransformer = Field(default_factory=SearchWeightScaleTransformer)
    apply_layers: list[str] = Field(default_factory=list)
    exclude_layers: list[str] = Field(default_factory=list)


class BiasCorrectionAttributes(ConfigSection):
    """Layers by name or glob; without any, all layers."""

    apply_layers: list[str] = Field(default_factory=list, description="only these layers")
    exclude_layers: list[str] = Field(default_factory=list, description="all but these layers")

    moved = {
        "num_samples": Moved(None, "1.4", "the correction is computed from statistics of all samples"),
        "iterations": Moved(None, "1.4", "the correction is computed in one pass"),
        "correction_rate": Moved(None, "1.4", "the correction is computed in one pass"),
    }


class BiasCorrectionConfig(ConfigSection):
    """Correct the mean error that rounded weights leave at each output channel."""

    Attributes = BiasCorrectionAttributes

    apply: bool = True
    attributes: BiasCorrectionAttributes = Field(default_factory=BiasCorrectionAttributes)


class ModLearningRate(ConfigSection):
    """Learning rate by kind of parameter."""

    activation_scale: NotNegative = 1e-2
    zero_point: NotNegative = 1e-3
    weight_scale: NotNegative = 1e-2
    bias: NotNegative = 1e-3
    weight: NotNegative = 1e-5


class ModTrain(ConfigSection):
    """What is trained."""

    activation_scale: bool = True
    zero_point: bool = True
    weight_scale: bool = True
    bias: bool = True
    weight: bool = False
    rounding: bool = False


class ModLoss(ConfigSection):
    """The difference to the float network that is made small."""

    type: Literal["nmse", "mse", "kl", "cosine"] = "nmse"
    temperature: Positive = 1.0
    output_weights: dict[str, float] = Field(default_factory=dict)
    feature_layers: list[str] = Field(default_factory=list)
    feature_weight: NotNegative = 0.0


class ModAttributes(ConfigSection):
    """Settings of the training."""

    stage: Literal["block", "network", "both"] = "block"
    epochs: Count = 10
    batch_size: Count = 8
    num_samples: Count = 256
    learning_rate: ModLearningRate = Field(default_factory=ModLearningRate)
    scheduler: Literal["cosine", "constant", "step"] = "cosine"
    warmup_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.05
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    train: ModTrain = Field(default_factory=ModTrain)
    loss: ModLoss = Field(default_factory=ModLoss)
    drop_prob: Annotated[float, Field(ge=0, lt=1)] = 0.5
    gradient_checkpoint: bool = True
    precision: Literal["fp32", "bf16"] = "fp32"
    apply_layers: list[str] = Field(default_factory=list)
    exclude_layers: list[str] = Field(default_factory=list)
    early_stop_patience: CountOrZero = 3
    seed: CountOrZero = 0


class ModConfig(ConfigSection):
    """Training of encodings so that outputs differ least from those of the float network."""

    Attributes = ModAttributes

    apply: bool = False
    attributes: ModAttributes = Field(default_factory=ModAttributes)


class LoadScaleConfig(ConfigSection):
    """Encodings from a file or a list instead of calibration."""

    apply: bool = False
    path: PathText = Field(default="", description="JSON, npz, ONNX with QDQ, or TFLite file")
    format: Literal["auto", "native", "aimet", "qdq", "tflite"] = "auto"
    entries: list[dict[str, Any]] = Field(
        default_factory=list, description="list of {layer, tensor, scale, zeroPoint, bits}"
    )
    scope: Literal["activation", "weight", "all"] = "activation"
    strict: bool = True
    freeze: bool = True


class AcceptanceConfig(ConfigSection):
    """Judging of each optional step on samples that were held out."""

    apply: bool = False
    metric: Literal["nmse", "mse", "cosine"] = "nmse"
    min_gain: NotNegative = 0.002
    z_score: NotNegative = 1.0
    max_worst_case: Positive = 1.10
    network_gate: bool = True
    policy: Literal["revert", "warn", "error"] = "revert"


class AutoPromoteConfig(ConfigSection):
    """Values that 8 bits cannot hold well enough get 16 bits, by rules known before anything runs."""

    apply: bool = True
    logit_step: Positive = Field(default=0.1, description="largest step of a value that feeds a softmax")
    tail_ratio: Positive = Field(default=8.0, description="extreme over 99.9th percentile, before a normalization")
    min_sqnr: Positive = Field(default=33.0, description="dB that 8 bits must reach")
    max_mac_increase: NotNegative = Field(default=0.05, description="bound of the additional multiplications")
    max_tensors: CountOrZero = Field(default=0, description="bound of the promoted values (0: none)")


class AdaRoundConfig(ConfigSection):
    """Trained rounding of weights."""

    apply: bool = False
    iterations: Count = 4000
    batch_size: Count = 32
    regularization: NotNegative = 0.01
    granularity: Literal["layer", "block"] = "block"
    drop_prob: Annotated[float, Field(ge=0, lt=1)] = 0.5
    apply_layers: list[str] = Field(default_factory=list)
    exclude_layers: list[str] = Field(default_factory=list)


class CrossLayerConfig(ConfigSection):
    """Equalization of channel ranges over neighbouring layers."""

    apply: bool = False
    iterations: Count = 20
    absorb_bias: bool = True
    source: Literal["weight", "activation"] = "activation"


class QuantReportConfig(ConfigSection):
    """The table of accuracy by layer."""

    path: PathText = "report"
    html: bool = True
    per_layer: bool = True
    isolated: bool = Field(default=True, description="also the error that each layer makes alone")
    top_n: Count = 20
    samples: Count = Field(default=2, description="samples that are compared")


class TuningConfig(ConfigSection):
    """Settings that this compiler adds to the documented ones."""

    acceptance: AcceptanceConfig = Field(default_factory=AcceptanceConfig)
    auto_promote: AutoPromoteConfig = Field(default_factory=AutoPromoteConfig)
    ada_round: AdaRoundConfig = Field(default_factory=AdaRoundConfig)
    cross_layer: CrossLayerConfig = Field(default_factory=CrossLayerConfig)
    bias_target: Literal["weight", "output"] = Field(default="weight", description="what bias correction restores")
    report: QuantReportConfig = Field(default_factory=QuantReportConfig)
    spared: CountOrZero = Field(default=8, description="outermost elements a sample that mode 1 never clips")
    output_margin: Share | Literal[0] = Field(default=0.25, description="room of graph outputs beyond their extremes")
