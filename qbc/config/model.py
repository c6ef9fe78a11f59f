"""The whole configuration of a compilation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from pydantic.alias_generators import to_snake

from qbc.config.bit import BitConfig
from qbc.config.calibration import CalibrationConfig
from qbc.config.language import EquivalentTransformationConfig, LlmConfig, MoeConfig
from qbc.config.older import HESSIAN_IS_ABSENT
from qbc.config.origin import OriginConfig
from qbc.config.preprocessing import PreprocessingConfig
from qbc.config.resources import ExtraOutputConfig, ResourceManagementConfig, RuntimeOptionsConfig
from qbc.config.save_sample import SaveSampleConfig
from qbc.config.section import ConfigSection, Moved, PathText, conflict, explicit, field_names, merge, section_class
from qbc.config.uint8_input import Uint8InputConfig
from qbc.config.weights import (
    BiasCorrectionConfig,
    HessianQuantConfig,
    LoadScaleConfig,
    ModConfig,
    SearchWeightScaleConfig,
    TuningConfig,
)

CONFIG_VERSION = "1.0.0"
DEFAULT_SAVE_PATH = "./tmp.mxq"

# Files may group sections; inside the compiler the configuration is flat. Group key -> key in the group -> section.
GROUPS: dict[str, dict[str, str]] = {
    "quantization": {"calibration": "calibration", "bit": "bit"},
    "advancedQuantization": {
        "hessianQuant": "hessian_quant",
        "mod": "mod",
        "EquivalentTransformation": "equivalent_transformation",
        "searchWeightScale": "search_weight_scale",
        "loadScale": "load_scale",
        "biasCorrection": "bias_correction",
    },
}
# Groups by their keys, in both spellings.
_GROUP_KEYS = {key: group for group in GROUPS for key in (group, to_snake(group))}
# Keys of paths: snapshots leave them out, so that their bytes do not depend on where files lie.
PATH_FIELDS = ("model_paths", "calib_data_path", "save_paths")
_PATHS: dict[str, Any] = {
    **dict.fromkeys(PATH_FIELDS, True),
    "save_sample": {"save_path"},
    "calibration": {"statistics": {"save_path", "load_path"}},
    "bit": {"save_info": {"save_path"}},
}
# What snapshots record in a place of its own.
_ELSEWHERE: dict[str, Any] = {"pass_pipeline": True, "origin": True}


class CompileConfig(ConfigSection):
    """Everything that can be configured; see the reference of configuration for what each field does."""

    model_paths: list[PathText] = Field(default_factory=list, description="source models, where no argument names one")
    calib_data_path: list[PathText] = Field(
        default_factory=list, alias="calibDataPaths", description="calibration data, where no argument names any"
    )
    save_paths: list[PathText] = Field(
        default_factory=lambda: [DEFAULT_SAVE_PATH], description="output, where no argument names one"
    )
    use_random_calib: bool = Field(default=False, description="calibrate with random data; for smoke tests")
    inference_scheme: Literal["single", "multi", "global4", "global8", "all", "global"] = Field(
        default="single", description="core mode of the program; all: one program for each mode of the target"
    )
    cpu_offload: bool = Field(default=False, description="run unsupported parts of the graph on the CPU")
    force_npu_input_reposition: bool = Field(default=False, description="change the layout of inputs on the NPU")
    force_npu_output_reposition: bool = Field(default=False, description="change the layout of outputs on the NPU")
    optimize_option: Literal[0, 1, 2, 3, 4, 99] = Field(default=1, description="optimization level of the schedule")
    buffer_mode: Annotated[int, Field(ge=0)] = Field(default=1, description="order of buffers in the executable")
    device: Literal["gpu", "cpu"] = Field(default="gpu", description="where the compiler computes")
    dtype: str = Field(default="float", description="metadata")
    debug: bool = Field(default=False, description="more output")
    trace: bool = Field(default=False, description="more output")
    image_channels: Literal[0, 1, 3] = Field(default=0, description="channels of calibration images (0: of the file)")
    config_version: str = Field(default=CONFIG_VERSION, description="version of the keys")
    split_blocks: list[int] = Field(default_factory=list, description="blocks of each executable")
    split_parts: Annotated[int, Field(ge=0)] = Field(default=0, description="number of executables")
    uint8_input: Uint8InputConfig = Field(default_factory=Uint8InputConfig)
    preprocessing: PreprocessingConfig = Field(default_factory=PreprocessingConfig)
    resource_management: ResourceManagementConfig = Field(default_factory=ResourceManagementConfig)
    calibration: CalibrationConfig = Field(default_factory=CalibrationConfig)
    bit: BitConfig = Field(default_factory=BitConfig)
    hessian_quant: HessianQuantConfig = Field(default_factory=HessianQuantConfig)
    bias_correction: BiasCorrectionConfig = Field(default_factory=BiasCorrectionConfig)
    mod: ModConfig = Field(default_factory=ModConfig)
    llm: LlmConfig = Field(default_factory=LlmConfig)
    moe: MoeConfig = Field(default_factory=MoeConfig)
    equivalent_transformation: EquivalentTransformationConfig = Field(default_factory=EquivalentTransformationConfig)
    search_weight_scale: SearchWeightScaleConfig = Field(default_factory=SearchWeightScaleConfig)
    load_scale: LoadScaleConfig = Field(default_factory=LoadScaleConfig)
    save_sample: SaveSampleConfig = Field(default_factory=SaveSampleConfig)
    extra_output: ExtraOutputConfig = Field(default_factory=ExtraOutputConfig)
    runtime_options: RuntimeOptionsConfig = Field(default_factory=RuntimeOptionsConfig)
    tuning: TuningConfig = Field(default_factory=TuningConfig)
    pipelines: dict[Literal["import", "convert", "quantize", "lower", "encode"], str] = Field(
        default_factory=dict, description="pass pipelines that replace those of phases"
    )
    pass_pipeline: str = Field(
        default="", description="an edited pipeline text of all phases; it goes before pipelines and settings of passes"
    )
    origin: OriginConfig = Field(default_factory=OriginConfig)

    groups = GROUPS
    moved = {
        "optq": Moved(None, "1.3", f"its key is hessianQuant now, and {HESSIAN_IS_ABSENT}"),
        "layer_bias_correction": Moved(
            "bias_correction", "1.4", "it is computed in one pass", defaults={"apply": False}
        ),
        "input_shape_dict": Moved(None, "1.4", "bind shapes with feed_dict or --input-shape"),
    }

    @field_validator("device", mode="before")
    @classmethod
    def _cuda_is_gpu(cls, value: Any) -> Any:
        return "gpu" if value == "cuda" else value

    @field_validator("config_version")
    @classmethod
    def _known_version(cls, value: str) -> str:
        parts = value.split(".")
        if not 1 <= len(parts) <= 3 or not all(part.isdigit() and len(part) < 6 for part in parts):
            raise ValueError("a version is written as 1.0.0")
        if int(parts[0]) > int(CONFIG_VERSION.split(".")[0]):
            raise ValueError(f"{value} is newer than {CONFIG_VERSION}, the newest version that is understood")
        return value

    @classmethod
    def prepared(cls, data: Mapping[Any, Any]) -> dict[Any, Any]:
        """Accept grouped keys too; grouped and flat keys of one section are merged, grouped ones win."""
        return flattened(super().prepared(data))

    @classmethod
    def from_file(cls, path: str | Path, *, strict: bool = False) -> "CompileConfig":
        """Read a .json, .yaml or .yml file; keys of older releases give warnings, conflicts too (`strict`: errors)."""
        from qbc.argument_types import SWITCH, path_of
        from qbc.config.files import read_config

        SWITCH.check("strict", strict)
        return read_config(path_of("path", path), strict=bool(strict))

    @classmethod
    def from_preset(cls, name: str) -> "CompileConfig":
        """Return the configuration of a preset over the defaults."""
        from qbc.argument_types import TEXT
        from qbc.config.resolve import Request, resolve
        from qbc.pipelines.phases import load_preset

        TEXT.check("name", name)
        preset = load_preset(name)
        return resolve(Request(presets=preset.layers, preset_name=preset.name), features=False).config

    def grouped(self, *, paths: bool = True) -> dict[str, Any]:
        """Return everything in the form of files: camelCase keys, sections in their groups.

        Without `paths` it is what snapshots record as configuration: they have the pipeline and the preset elsewhere.
        """
        return grouped(self.model_dump(by_alias=True, mode="json", exclude=None if paths else {**_PATHS, **_ELSEWHERE}))


def is_path(field: str) -> bool:
    """Return whether the field, a dotted path of field names, holds paths of files."""
    known: Any = _PATHS
    for part in field.split("."):
        if part not in known:
            return False
        known = known[part] if isinstance(known, Mapping) else True
        if known is True:
            return True
    return False


def flattened(data: Mapping[Any, Any]) -> dict[Any, Any]:
    """Take sections out of their groups; `data` has field names as keys at its top."""
    flat = {key: value for key, value in data.items() if key not in _GROUP_KEYS}
    for key, value in data.items():
        group = _GROUP_KEYS.get(key)
        if group is None or value is None:
            continue
        if not isinstance(value, Mapping):
            flat[key] = value  # not a section: validation names it
            continue
        for inner, section in value.items():
            _place(flat, group, inner, section)
    return flat


def _place(flat: dict[Any, Any], group: str, key: Any, section: Any) -> None:
    named = field_names(CompileConfig, {key: section})
    for name, value in named.items():
        known = GROUPS[group].get(key) or (name if name in GROUPS[group].values() else None)
        if known is None:
            flat.setdefault(group, {})[key] = section  # unknown: validation names it
        elif known not in flat:
            flat[known] = value
        else:
            flat[known] = _merged_section(known, f"{group}.{key}", flat[known], value)


def _merged_section(name: str, where: str, flat: Any, group: Any) -> Any:
    cls = section_class(CompileConfig, name)
    first, second = _as_dict(cls, flat), _as_dict(cls, group)
    if first is None or second is None:
        return group
    alias = CompileConfig.model_fields[name].alias
    for path in _differences(first, second):
        conflict(f"{alias}.{path} and {where}.{path} have different values; the grouped one is used")
    return merge(first, second)


def _as_dict(cls: type[ConfigSection] | None, value: Any) -> dict[Any, Any] | None:
    if isinstance(value, ConfigSection):
        return explicit(value)
    return _deep_names(cls, value) if cls is not None and isinstance(value, Mapping) else None


def _deep_names(cls: type[ConfigSection], data: Mapping[Any, Any]) -> dict[Any, Any]:
    result = cls.prepared(data)
    for name, value in result.items():
        inner = section_class(cls, name) if name in cls.model_fields else None
        if inner is not None:
            result[name] = _as_dict(inner, value) if isinstance(value, Mapping | ConfigSection) else value
    return result


def _differences(first: Mapping[Any, Any], second: Mapping[Any, Any]) -> list[str]:
    paths = []
    for key in first.keys() & second.keys():
        if isinstance(first[key], Mapping) and isinstance(second[key], Mapping):
            paths += [f"{key}.{path}" for path in _differences(first[key], second[key])]
        elif first[key] != second[key]:
            paths.append(str(key))
    return sorted(paths)


def grouped(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Put the sections of a flat dictionary with camelCase keys into their groups."""
    keys = {
        CompileConfig.model_fields[name].alias: (group, key) for group in GROUPS for key, name in GROUPS[group].items()
    }
    result: dict[str, Any] = {}
    for key, value in flat.items():
        if key in keys:
            group, inner = keys[key]
            result.setdefault(group, {})[inner] = value
        else:
            result[key] = value
    return result
