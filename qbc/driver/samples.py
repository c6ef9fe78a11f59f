"""Calibration samples that are opened when a pass first asks for them.

What a sample must look like follows from the graph inputs, and those exist only after import and conversion; so the
source is bound to the module and reads the arguments of `@main` on first use.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from qbc.dialects.common.graph import LETTERBOXED, NORMALIZED, division_factor
from qbc.dialects.common.tensor_text import dims_text, source_dims
from qbc.driver.events import Event, EventSink, ignore
from qbc.errors import ConfigError, QBCompilerError
from qbc.passes.base import CompileContext

if TYPE_CHECKING:
    from qbc.calibration import InputSpec, Preprocessing, StatisticsFile
    from qbc.config import CompileConfig


class BoundSamples:
    """A sample source over data of the user, or seeded random data when `data` is None.

    `config` says what happens to images; each sample that was handed out is an event of kind `sample`. With
    `keeps_digests`, `digests` holds the digest of each sample that was handed out, in their order. `told` are the
    notices about the data: they name files, so artifacts do not record them.
    """

    def __init__(
        self,
        data: Any,
        module: ModuleOp,
        ctx: CompileContext,
        config: CompileConfig | None = None,
        on_event: EventSink = ignore,
        *,
        keeps_digests: bool = False,
    ) -> None:
        self.digests: list[str] = []
        self.told: set[str] = set()
        self._keeps_digests = keeps_digests
        self._data = data
        self._module = module
        self._ctx = ctx
        self._config = config
        self._on_event = on_event
        self._opened: Any = None

    def _source(self) -> Any:
        if self._opened is None:
            from qbc.calibration import RandomSamples, open_samples

            specs = input_specs(self._module)
            if self._data is None:
                self._ctx.notice("calibrated with random data: the accuracy of the result means nothing")
                self._opened = RandomSamples(tuple(specs))
            else:
                self._opened = open_samples(self._data, specs, self._tell, preprocessing_of(self._config))
                self._tell_of_arrays()
        return self._opened

    def _tell_of_arrays(self) -> None:
        """Tell of what is done to pictures where the samples are arrays."""
        from qbc.driver.input_passes import normalizations, picture_settings

        if self._config is None or self._opened.has_pictures:
            return
        for key in picture_settings(self._config):
            self._tell(f"{key} has no effect on the calibration: the samples are arrays, which are taken as they are")
        for formula in normalizations(self._config):
            self._tell(f"what normalize does to pictures, {formula}, must have been done to the samples already")

    def _tell(self, message: str) -> None:
        self.told.add(message)
        self._ctx.notice(message)

    @property
    def was_read(self) -> bool:
        """Whether anything asked for the samples."""
        return self._opened is not None

    @property
    def is_random(self) -> bool:
        """Whether the samples are noise."""
        return self._data is None

    def __len__(self) -> int:
        return len(self._source())

    def __iter__(self) -> Iterator[Any]:
        source = self._source()
        total, begin = len(source), time.monotonic()
        for index, sample in enumerate(source):
            if self._keeps_digests and index == len(self.digests):
                self.digests.append(sample_digest(sample))
            yield sample
            seconds = time.monotonic() - begin
            left = seconds / (index + 1) * (total - index - 1)
            self._on_event(Event("sample", self._ctx.current_pass, index + 1, total, {"remaining_seconds": left}))


def sample_digest(sample: Mapping[str, Any]) -> str:
    """Return 32 hex digits of the SHA-256 of a sample: of each input the name, element type, shape and bytes."""
    import hashlib

    import numpy as np

    digest = hashlib.sha256()
    for name, array in sample.items():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{name}\0{little.dtype.str}\0{list(little.shape)}\0".encode())
        digest.update(little.data)
    return digest.hexdigest()[:32]


def statistics_file(config: CompileConfig | None) -> StatisticsFile | None:
    """Return where statistics are kept, None where the configuration asks for neither reading nor writing."""
    if config is None or not config.calibration.statistics.apply:
        return None
    from qbc.calibration import StatisticsFile

    if not config.calibration.statistics.load_path and not config.calibration.statistics.save_path:
        raise ConfigError("calibration.statistics needs savePath or loadPath")
    load, save = config.calibration.statistics.load_path, config.calibration.statistics.save_path
    return StatisticsFile(Path(load) if load else None, Path(save) if save else None)


def preprocessing_of(config: CompileConfig | None) -> Preprocessing:
    """Return what a configuration does to calibration images."""
    from qbc.calibration import make_preprocessing

    if config is None:
        return make_preprocessing(None)
    return make_preprocessing(config.preprocessing.model_dump(), config.image_channels)


def main_function(module: ModuleOp) -> FuncOp:
    """Return `func.func @main`; raises VERIFY_ERROR when there is none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise QBCompilerError("the module has no function @main", code="VERIFY_ERROR")


def argument_attributes(func: FuncOp) -> list[dict[str, Attribute]]:
    """Return the attribute dictionary of each argument."""
    if func.arg_attrs is None:
        return [{} for _ in func.args]
    return [dict(part.data) if isinstance(part, DictionaryAttr) else {} for part in func.arg_attrs]


def input_specs(module: ModuleOp, binding: str = "bind them with") -> list[InputSpec]:
    """Return what each graph input accepts; open dimensions are SHAPE_ERROR, `binding` begins the hint."""
    from qbc.calibration import InputSpec

    func = main_function(module)
    specs = []
    for index, (argument, attributes) in enumerate(zip(func.args, argument_attributes(func), strict=True)):
        name = _text(attributes.get("mblt.name")) or _text(attributes.get("framework.name")) or f"input{index}"
        kind = argument.type
        layout = _text(attributes.get("mblt.source_layout"))
        if not isinstance(kind, TensorType) or any(dim < 0 for dim in kind.get_shape()):
            raise _open_input(name, kind, layout, binding)
        specs.append(
            InputSpec(
                name,
                tuple(kind.get_shape()),
                _sample_dtype(name, kind.element_type),
                layout,
                division_factor(func, index),
                NORMALIZED in attributes,
                LETTERBOXED in attributes,
            )
        )
    return specs


def _sample_dtype(name: str, element: Attribute) -> str:
    from qbc.dialects.blob import dtype_name

    try:
        return dtype_name(element)
    except VerifyException:
        raise QBCompilerError(
            f"input {name!r} has elements of type {element}, which samples cannot have",
            code="UNSUPPORTED_FEATURE",
            hint="change the source model",
        ) from None


def _open_input(name: str, kind: Attribute, layout: str | None, binding: str) -> QBCompilerError:
    if not isinstance(kind, TensorType):
        return QBCompilerError(f"input {name!r} is no tensor", code="SHAPE_ERROR", hint="change the source model")
    shape = dims_text(source_dims(kind, layout))
    return QBCompilerError(
        f"input {name!r} has the shape {shape}, calibration needs fixed dimensions",
        code="SHAPE_ERROR",
        hint=f"{binding} --input-shape {name}={shape}, with a number for each ?",
    )


def _text(attribute: Attribute | None) -> str | None:
    return attribute.data if isinstance(attribute, StringAttr) else None
