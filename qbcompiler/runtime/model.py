"""A compiled model: launch, infer, and the facts about its inputs and outputs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbc.argument_types import described, path_of
from qbc.errors import ArgumentError, QBCompilerError, counted
from qbcompiler.runtime.arrays import as_arrays, deliver, run_arrays, shape_error
from qbcompiler.runtime.devices import CLUSTERS, CORES_PER_CLUSTER, Accelerator, CoreMode, hardware_error
from qbcompiler.runtime.files import open_file, user_shape, with_layouts
from qbcompiler.runtime.model_config import ModelConfig, core_name
from qbcompiler.runtime.unavailable import missing_attribute

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qbc.program import HostTensor, Program
    from qbc.runtime import LoadedModel, Simulator

    Array = npt.NDArray[np.generic]

_HOST_TYPES = {"f32": "float32", "i32": "int32", "u8": "uint8"}


class DataType(StrEnum):
    """Types of values; each is also its name as text."""

    Float32 = "Float32"
    Float16 = "Float16"
    Int8 = "Int8"
    Uint8 = "Uint8"
    BInt16 = "BInt16"
    Int32 = "Int32"


_CODE_TYPES = {"i8": DataType.Int8, "i16": DataType.BInt16, "i32": DataType.Int32}


def data_type(tensor: HostTensor) -> DataType:
    """Return the type of the codes of a graph input or output, Uint8 where it takes pixels."""
    return DataType.Uint8 if tensor.dtype == "u8" else _CODE_TYPES[tensor.operand.dtype]


@dataclass(frozen=True)
class Scale:
    """Encoding of a graph input or output: `real = scale * (code - zero_point)`.

    An output may have a scale for each channel (of the last axis of the channel-last layout): `scale_list` has them
    all, `scale` is the largest. The zero point is the same for all channels.
    """

    scale: float
    zero_point: int
    channel_scales: tuple[float, ...] = ()

    @property
    def is_uniform(self) -> bool:
        """Whether one scale is that of the whole tensor."""
        return not self.channel_scales

    @property
    def scale_list(self) -> list[float]:
        """Scales of the channels; one entry where the scale is uniform."""
        return list(self.channel_scales or (self.scale,))

    @property
    def zero_points(self) -> list[int]:
        """Zero points of the channels; one entry where the scale is uniform."""
        return [self.zero_point] * len(self.scale_list)

    @property
    def is_asymmetric(self) -> bool:
        """Whether the zero point differs from 0."""
        return self.zero_point != 0


class Model:
    """A compiled model. Errors carry the documented number in `status` and its name in `status_name`."""

    def __init__(self, path: str | Path, config: ModelConfig | None = None) -> None:
        self._path = path_of("path", path)
        self._config = ModelConfig() if config is None else config
        if not isinstance(self._config, ModelConfig):
            raise ArgumentError(f"config is {described(config)}, expected a ModelConfig")
        self._loaded: LoadedModel | None = open_file(self._path)
        self._mode = self._choose_mode(self._loaded)
        self._program: Program = with_layouts(self._loaded.program(self._mode))
        self._simulator: Simulator | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        raise missing_attribute("Model", name)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.dispose()

    # --- life ---

    def launch(self, accelerator: Accelerator) -> None:
        """Load the program onto a device; raises Model_IsNotSupportedHardware (48) when it is for another one."""
        from qbc.runtime import Simulator

        if not isinstance(accelerator, Accelerator):
            raise ArgumentError(
                f"accelerator is {described(accelerator)}, expected an Accelerator", hint="model.launch(Accelerator(0))"
            )
        if not accelerator.runs(self._program.target):
            raise hardware_error(
                f"{str(self._path)!r} is for {self._program.target!r}, the device is {accelerator.device_name!r}",
                f"compile for {accelerator.device_name}",
            )
        self._simulator = Simulator(self._program, self._open_model().package.store)

    def dispose(self) -> None:
        """Release memory; the model cannot be used afterwards."""
        self._simulator = None
        self._loaded = None

    # --- inference ---

    def infer(
        self,
        inputs: Array | Sequence[Array],
        outputs: list[Array] | None = None,
        cache_size: int = 0,
        params: object = None,
    ) -> list[Array]:
        """Run the model on one array or a list of arrays and return the list of outputs.

        Shapes are matched with HWC, then CHW; a leading batch axis may be there or not and may be larger than 1 (core
        mode multi runs four images of a batch at once). Layout, batch axis and dtype of the outputs follow the inputs:
        float16 in, float16 out; int8 or uint8 codes in, the same out.
        `outputs` may be an empty list, or arrays to be filled. Where the shape of an input fits both layouts, it is
        read as HWC with a warning; codes get one, and NaN, which is read as 0. Each warning is given once.
        """
        _refuse_cache(cache_size, params)
        return deliver(self._infer(inputs, None), outputs)

    def infer_hwc(
        self,
        inputs: Array | Sequence[Array],
        outputs: list[Array] | None = None,
        cache_size: int = 0,
        params: object = None,
    ) -> list[Array]:
        """`infer` with channel-last inputs and outputs."""
        from qbc.runtime.boundary import CHANNEL_LAST

        _refuse_cache(cache_size, params)
        return deliver(self._infer(inputs, CHANNEL_LAST), outputs)

    def infer_chw(
        self,
        inputs: Array | Sequence[Array],
        outputs: list[Array] | None = None,
        cache_size: int = 0,
        params: object = None,
    ) -> list[Array]:
        """`infer` with channel-first inputs and outputs."""
        from qbc.runtime.boundary import SOURCE

        _refuse_cache(cache_size, params)
        return deliver(self._infer(inputs, SOURCE), outputs)

    def infer_to_float(
        self, inputs: Array | Sequence[Array], cache_size: int = 0, params: object = None
    ) -> list[Array]:
        """`infer` with float outputs whatever the inputs are."""
        _refuse_cache(cache_size, params)
        return self._infer(inputs, None, as_float=True)

    def infer_hwc_to_float(
        self, inputs: Array | Sequence[Array], cache_size: int = 0, params: object = None
    ) -> list[Array]:
        """`infer_hwc` with float outputs whatever the inputs are."""
        from qbc.runtime.boundary import CHANNEL_LAST

        _refuse_cache(cache_size, params)
        return self._infer(inputs, CHANNEL_LAST, as_float=True)

    def infer_chw_to_float(
        self, inputs: Array | Sequence[Array], cache_size: int = 0, params: object = None
    ) -> list[Array]:
        """`infer_chw` with float outputs whatever the inputs are."""
        from qbc.runtime.boundary import SOURCE

        _refuse_cache(cache_size, params)
        return self._infer(inputs, SOURCE, as_float=True)

    def infer_speedrun(self) -> None:
        """Run once on zeros."""
        import numpy as np

        zeros = [np.zeros(t.operand.shape, _HOST_TYPES[t.dtype]) for t in self._program.inputs]
        self._infer(zeros, None)

    def _infer(self, inputs: Array | Sequence[Array], layout: str | None, *, as_float: bool = False) -> list[Array]:
        arrays = as_arrays(inputs)
        tensors = self._program.inputs
        if len(arrays) != len(tensors):
            raise shape_error(f"the model has {counted(len(tensors), 'input')}, {len(arrays)} were given")
        simulator = self._running()
        with self._lock:
            return run_arrays(simulator, arrays, layout=layout, as_float=as_float)

    # --- facts ---

    def get_model_input_shape(self) -> list[tuple[int, ...]]:
        """Return the shapes of the inputs, (H, W, C) for images."""
        return [user_shape(tensor) for tensor in self._program.inputs]

    def get_model_output_shape(self) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs, (H, W, C) for images."""
        return [user_shape(tensor) for tensor in self._program.outputs]

    def get_input_scale(self) -> list[Scale]:
        """Return the encodings of the inputs."""
        return [Scale(tensor.scale, tensor.zero_point) for tensor in self._program.inputs]

    def get_output_scale(self) -> list[Scale]:
        """Return the encodings of the outputs."""
        return [Scale(tensor.scale, tensor.zero_point, tensor.channel_scales) for tensor in self._program.outputs]

    def get_model_input_data_type(self) -> list[DataType]:
        """Return the types of the codes of the inputs: Int8, BInt16 or Int32; Uint8 for inputs that take pixels."""
        return [data_type(tensor) for tensor in self._program.inputs]

    def get_model_output_data_type(self) -> list[DataType]:
        """Return the types of the codes of the outputs: Int8, BInt16 or Int32."""
        return [data_type(tensor) for tensor in self._program.outputs]

    def get_input_names(self) -> list[str]:
        """Return the names of the inputs in the source model."""
        return [tensor.name for tensor in self._program.inputs]

    def get_output_names(self) -> list[str]:
        """Return the names of the outputs in the source model."""
        return [tensor.name for tensor in self._program.outputs]

    def get_core_mode(self) -> CoreMode:
        """Return the mode the model runs in."""
        return CoreMode(self._mode)

    def get_target_cores(self) -> list[str]:
        """Return the cores of one run of the model, as `cluster:core`."""
        if self._config.core_ids:
            return list(self._config.core_ids[: self._program.cores])
        clusters = self._config.clusters or range(CLUSTERS)
        cores = [f"{cluster}:{core}" for cluster in clusters for core in range(CORES_PER_CLUSTER)]
        return cores[: self._program.cores]

    @property
    def target_cores(self) -> list[str]:
        """Old name of `get_target_cores()`."""
        return self.get_target_cores()

    def is_target(self, core_id: str) -> bool:
        """Return whether a core, `cluster:core` or `device:cluster:core`, is one of `get_target_cores()`."""
        return core_name("core_id", core_id) in self.get_target_cores()

    def get_num_model_variants(self) -> int:
        """Return the number of variants (input sizes) in the file."""
        return self._open_model().variants

    def get_identifier(self) -> str:
        """Return the name of the model: the file name without its extension."""
        return self._path.stem

    def get_model_path(self) -> str:
        """Return the path of the file."""
        return str(self._path)

    # --- parts ---

    def _choose_mode(self, loaded: LoadedModel) -> str:
        from qbc.runtime import RuntimeStatusError, Status

        modes = loaded.package.modes
        wanted = self._config.core_mode
        if wanted is CoreMode.Auto and len(modes) == 1:
            return modes[0]
        if wanted.value in modes:
            return wanted.value
        held = ", ".join(modes)
        if wanted is CoreMode.Auto:
            message = f"core mode Auto takes a file of exactly one core mode, this one holds {held}"
            hint = f"choose one with ModelConfig.set_{modes[0]}_core_mode, or compile for one inference scheme"
        else:
            message = f"the configuration asks for core mode {wanted.value!r}, the file holds {held}"
            hint = "choose a mode that the file was compiled for"
        raise RuntimeStatusError(Status.MODEL_MXQ_AND_MODEL_CONFIG_NOT_MATCH, message, hint=hint)

    def _open_model(self) -> LoadedModel:
        if self._loaded is None:
            raise QBCompilerError("the model was disposed", code="RUNTIME_ERROR", hint="create the Model again")
        return self._loaded

    def _running(self) -> Simulator:
        self._open_model()
        simulator = self._simulator  # another thread may dispose of the model
        if simulator is None:
            raise QBCompilerError(
                "the model was not launched", code="RUNTIME_ERROR", hint="call model.launch(Accelerator()) first"
            )
        return simulator


def load(path: str | Path, config: ModelConfig | None = None) -> Model:
    """Open a compiled model; `launch` is still to be called."""
    return Model(path, config)


def _refuse_cache(cache_size: int, params: object) -> None:
    if cache_size or params is not None:
        raise QBCompilerError("this model has no key-value cache", code="UNSUPPORTED_FEATURE", hint="leave it out")
