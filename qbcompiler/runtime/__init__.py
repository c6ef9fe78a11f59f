"""Run compiled models: the documented runtime API on the bit-exact simulator.

```python
from qbcompiler.runtime import Accelerator, Model, ModelConfig

config = ModelConfig()
config.set_single_core_mode(1)
model = Model("model.mxq", config)
model.launch(Accelerator(0))
(logits,) = model.infer(image)  # HWC or CHW, float32, or int8 codes
model.dispose()
```

Nothing here talks to hardware: results are those of the integer arithmetic, times are not those of a device.
"""

from __future__ import annotations

from qbcompiler.runtime.devices import Accelerator, CoreMode
from qbcompiler.runtime.files import LogLevel, get_available_devices, get_model_summary, set_log_level
from qbcompiler.runtime.model import DataType, Model, Scale, load
from qbcompiler.runtime.model_config import ModelConfig
from qbcompiler.runtime.unavailable import (
    BatchParam,
    Buffer,
    BufferInfo,
    CacheInfo,
    Future,
    ModelVariantHandle,
    UnavailableError,
    start_tracing_events,
    stop_tracing_events,
)

__all__ = [
    "Accelerator",
    "BatchParam",
    "Buffer",
    "BufferInfo",
    "CacheInfo",
    "CoreMode",
    "DataType",
    "Future",
    "LogLevel",
    "Model",
    "ModelConfig",
    "ModelVariantHandle",
    "Scale",
    "UnavailableError",
    "get_available_devices",
    "get_model_summary",
    "load",
    "set_log_level",
    "start_tracing_events",
    "stop_tracing_events",
]
