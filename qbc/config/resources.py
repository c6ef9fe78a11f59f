"""Small sections: memory and types while compiling, additional outputs, metadata."""

from typing import Annotated, Literal

from pydantic import Field

from qbc.config.section import ConfigSection, Moved

WEIGHT_MEMORY_METHODS = ("DeleteFloat", "SaveFloat", "MoveFloat", "KeepFloat", "KeepAll")


class WeightMemoryConfig(ConfigSection):
    """What happens to float weights after their quantization."""

    method: Annotated[int, Field(ge=0, lt=len(WEIGHT_MEMORY_METHODS))] = Field(
        default=0, description="index in methodList"
    )
    method_list: list[str] = Field(default_factory=lambda: list(WEIGHT_MEMORY_METHODS))


class ResourceManagementConfig(ConfigSection):
    """Memory and types while compiling; results do not depend on them."""

    WeightMemory = WeightMemoryConfig

    weight_dtype: Literal["float32", "bfloat16", "float16"] = Field(
        default="float32", description="type of loaded weights"
    )
    gpu_memory_budget_mb: Annotated[int, Field(ge=-1)] = Field(
        default=-1, alias="gpuMemoryBudgetMB", description="MiB; -1 automatic, 0 without limit"
    )
    weight_memory: WeightMemoryConfig = Field(default_factory=WeightMemoryConfig)

    moved = {
        "use_gpu_only_for_calibration": Moved(None, "1.4", "the device decides where is computed"),
        "useGPUOnlyForCalibration": Moved(None, "1.4", "the device decides where is computed"),
    }


class ExtraOutputConfig(ConfigSection):
    """Layers whose results become additional outputs."""

    apply: bool = False
    layers: list[str] = Field(default_factory=list, description="names or globs of layers")


class RuntimeOptionsConfig(ConfigSection):
    """Metadata for runtimes."""

    version: str = "0.0.0"
