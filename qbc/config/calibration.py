"""Section `calibration`: how activation ranges are chosen from the calibration samples."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from qbc.config.section import ConfigSection, Moved, PathText

Share = Annotated[float, Field(gt=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]

_FLAT = "the settings of one observer are one section"


class MaxPercentileConfig(ConfigSection):
    """Clip point of mode 1: the quantile, and the share of largest values that is kept exactly."""

    percentile: Annotated[float, Field(gt=0.5, le=1.0)] = Field(
        default=0.9999, description="quantile that is the range"
    )
    topk_ratio: Share = Field(default=0.01, description="share of elements kept exactly at each end")
    max_each: CountOrZero = Field(default=0, description="limit of kept values a sample (0: none)")
    max_total: Count = Field(default=65536, description="limit of kept values")
    aggregate: Literal["pooled", "mean"] = Field(
        default="pooled", description="all samples as one set, or mean of percentiles"
    )


class HistogramConfig(ConfigSection):
    """Range search of mode 2 over a histogram."""

    num_bins: Count = Field(default=2048, description="bins a value")
    min_bin_width: Positive = Field(default=2.0**-100, description="smallest width of a bin")
    metric: Literal["mse", "kl", "outputMse", "percentile"] = Field(
        default="mse", description="what the search minimises"
    )
    percentile: Share = Field(default=0.99, description="quantile of the metric percentile")
    search_percentile_min: Share = Field(default=0.95, description="smallest candidate")
    search_percentile_max: Share = Field(default=0.9999, description="largest candidate")
    num_search: Count = Field(default=10, description="number of candidates")
    num_samples: Count = Field(default=1000, description="samples that fill the histogram")
    buffer_size: Count = Field(default=1024, description="elements buffered before an update")
    use_gpu: bool = Field(default=False, description="where histograms are computed")


class StatisticsConfig(ConfigSection):
    """Keep the statistics of a calibration, or start from kept ones."""

    apply: bool = Field(default=False, description="read or write statistics")
    save_path: PathText = Field(default="", description="file to write")
    load_path: PathText = Field(default="", description="file to read instead of running the samples")
    percentiles: list[float] = Field(default=[], description="candidate percentiles")
    percentile_index: CountOrZero = Field(default=0, description="candidate to use")
    sweep: bool = Field(default=False, description="write a program for each candidate too, <stem>_<percentile>.mxq")

    @model_validator(mode="after")
    def _check(self) -> "StatisticsConfig":
        if any(not 0.5 < percentile <= 1 for percentile in self.percentiles):
            raise ValueError("percentiles must be above 0.5, at most 1")
        if len(set(self.percentiles)) < len(self.percentiles):
            raise ValueError("percentiles lists a candidate twice")
        if self.percentiles and self.percentile_index >= len(self.percentiles):
            raise ValueError(f"percentileIndex {self.percentile_index}: there are {len(self.percentiles)} percentiles")
        return self


class GroupLutConfig(ConfigSection):
    """Grouping of lookup-table scales."""

    irls_iter: CountOrZero = Field(default=3, description="iterations of the reweighted fit")
    dro_eps: NotNegative = Field(default=0.0, description="robustness against the distribution of samples")
    cover_floor: Share = Field(default=0.85, description="smallest share of values that a table covers")


class OptimizeLutConfig(ConfigSection):
    """Refinement of lookup tables."""

    optimization_level: Literal[0, 1] = Field(default=1, description="0 surrogate, 1 true objective")


class CalibrationLayerOverrides(ConfigSection):
    """Calibration settings of single layers."""

    method: dict[str, Literal[0, 1, 2, 3]] | list[dict[str, Any]] = Field(
        default_factory=dict,
        description="layer name or glob -> method, or a list of {layers, method, mode, percentile}",
    )


class CalibrationConfig(ConfigSection):
    """How activation ranges are chosen from the calibration samples."""

    MaxPercentile = MaxPercentileConfig
    Histogram = HistogramConfig
    Statistics = StatisticsConfig
    GroupLut = GroupLutConfig
    OptimizeLut = OptimizeLutConfig
    LayerOverrides = CalibrationLayerOverrides

    method: Literal[0, 1, 2, 3] = Field(
        default=3, description="0 range per value, 1 range per scale group; 2 and 3 are the same with zero points"
    )
    output: Literal[0, 1, 2] = Field(default=0, description="scale of graph outputs: 0 one, 1 per channel, 2 sigmoid")
    mode: Literal[0, 1, 2] = Field(default=1, description="0 largest value, 1 percentile, 2 histogram search")
    max_percentile: MaxPercentileConfig = Field(default_factory=MaxPercentileConfig)
    histogram: HistogramConfig = Field(default_factory=HistogramConfig)
    statistics: StatisticsConfig = Field(default_factory=StatisticsConfig)
    group_lut: GroupLutConfig = Field(default_factory=GroupLutConfig)
    optimize_lut: OptimizeLutConfig = Field(default_factory=OptimizeLutConfig)
    layer_overrides: CalibrationLayerOverrides = Field(default_factory=CalibrationLayerOverrides)
    max_sample_size_for_quant_scheme: Count = Field(
        default=16, description="samples of each stage that judges a scheme"
    )
    min_clip_ratio: Share = Field(default=0.5, description="a range shrinks at most to this share of the extreme")
    act_scale_min: NotNegative = Field(default=0.0, description="smallest activation scale")
    weight_scale_min: NotNegative = Field(default=0.0, description="smallest weight scale")
    auto_unsigned: bool = Field(default=False, description="unsigned codes for values that are never negative")
    tie_ratio: Annotated[float, Field(ge=1.0)] = Field(
        default=1.4, description="ranges that differ by less share a scale where that saves a requantization"
    )
    intermediate_channel_scale: bool = Field(default=False, description="one scale a channel inside the graph")
    seed: CountOrZero = Field(default=0, description="seed of random choices")
    max_samples: CountOrZero = Field(default=0, description="number of samples that are used (0: all)")
    held_out_ratio: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        default=0.2, description="share of samples for judging"
    )

    moved = {
        "quantization_method": Moved("method", "1.1", "the section says what it belongs to"),
        "quantization_output": Moved("output", "1.1", "the section says what it belongs to"),
        "quantization_mode": Moved("mode", "1.1", "the section says what it belongs to"),
        "percentile": Moved("max_percentile.percentile", "1.1", _FLAT),
        "topk_ratio": Moved("max_percentile.topk_ratio", "1.1", _FLAT),
        "max_each": Moved("max_percentile.max_each", "1.1", _FLAT),
        "max_total": Moved("max_percentile.max_total", "1.1", _FLAT),
        "hist_percentile": Moved("histogram.percentile", "1.1", _FLAT),
        "hist_use_gpu": Moved("histogram.use_gpu", "1.1", _FLAT),
        "hist_num_bins": Moved("histogram.num_bins", "1.1", _FLAT),
        "hist_num_samples": Moved("histogram.num_samples", "1.1", _FLAT),
        "hist_buffer_size": Moved("histogram.buffer_size", "1.1", _FLAT),
        "hist_min_bin_width": Moved("histogram.min_bin_width", "1.1", _FLAT),
        "hist_search_percentile_min": Moved("histogram.search_percentile_min", "1.1", _FLAT),
        "hist_search_percentile_max": Moved("histogram.search_percentile_max", "1.1", _FLAT),
        "hist_num_search": Moved("histogram.num_search", "1.1", _FLAT),
        "hist_search_type": Moved(
            "histogram.metric", "1.1", _FLAT, values={0: "mse", 1: "kl", 2: "outputMse", 3: "percentile"}
        ),
        "optional": Moved(None, "1.1", "it had no meaning left"),
        "clustering_methods*": Moved(None, "1.3", "nothing read it"),
    }
