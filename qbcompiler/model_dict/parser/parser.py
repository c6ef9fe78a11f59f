"""`ModelParser`: from a source model to a graph and its weights, as older scripts call it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qbc.argument_types import SWITCH, TABLE, TEXT, path_of
from qbc.errors import ArgumentError
from qbcompiler.arguments import check_backend, check_kinds, shapes_of_feed
from qbcompiler.model_dict.common import ModelDict, WeightDict
from qbcompiler.model_dict.parser.config import ParserConfig

_logger = logging.getLogger("qbcompiler")


class ModelParser:
    """Parses a source model; `parse`, then `get_md_wd`. The graph is the one that `mblt_compile` writes.

    `model` is the path of an ONNX file; other documented backends than `onnx` are UNSUPPORTED_FEATURE. `cfg` holds
    settings (see ParserConfig). `yolo_decode_include=False` has no effect and is told in the log `qbcompiler`.
    """

    def __init__(
        self,
        model: Any = None,
        backend: str = "onnx",
        target_device: str | Path | None = None,
        yolo_decode_include: bool | None = None,
    ) -> None:
        TEXT.check("backend", backend)
        check_backend(backend)
        check_kinds({"target_device": target_device, "yolo_decode_include": yolo_decode_include})
        self.source = path_of("model", model)
        self.target_device = target_device
        self.cfg = ParserConfig()
        self._parsed: tuple[ModelDict, WeightDict] | None = None
        self._feed: Mapping[str, Any] = {}
        if yolo_decode_include not in (None, True):
            _logger.warning("yolo_decode_include is ignored: the graph is parsed as it was exported")

    @property
    def model_dict(self) -> ModelDict:
        """The parsed graph; ArgumentError before `parse`."""
        return self._result()[0]

    def parse(
        self,
        feed_dict: Mapping[str, Any] | None = None,
        save_subgraph_type: int | None = None,
        debug: bool = False,
        output_meta: Any = None,
    ) -> ModelDict:
        """Parse the model and return the graph; `feed_dict` binds the shapes of inputs.

        The other arguments have no effect, which is told in the log `qbcompiler` where they are set.
        """
        from tempfile import TemporaryDirectory

        from qbc.driver.compile import parse
        from qbc.driver.inspect import open_mblt
        from qbc.driver.plan import CompileOptions
        from qbcompiler.api import provenance_wanted
        from qbcompiler.model_dict.reading import model_dict_of

        for name, value in (("save_subgraph_type", save_subgraph_type), ("debug", debug), ("output_meta", output_meta)):
            if value:
                _logger.warning("%s has no effect when an ONNX model is parsed", name)
        options = CompileOptions(
            target=self.target_device, input_shapes=shapes_of_feed(feed_dict), provenance=provenance_wanted()
        )
        with TemporaryDirectory(prefix="qbcompiler-") as directory:
            result = parse(self.source, Path(directory) / "model.mblt", options)
            self._parsed = model_dict_of(open_mblt(result.output))
        for notice in result.ctx.notices:
            _logger.warning("%s", notice)
        self._feed = dict(feed_dict or {})
        return self._parsed[0]

    def get_md_wd(self, body_only: bool = False) -> tuple[ModelDict, WeightDict]:
        """Return graph and weights. With `body_only` the graph must have converted whole (else UNSUPPORTED_OP)."""
        from qbcompiler.tools import require_converted

        SWITCH.check("body_only", body_only)
        parsed = self._result()
        if body_only:
            require_converted(parsed[0].opened.module)
        return parsed

    def run_inference_and_compare_output_value(
        self,
        compare_result_output_path: str | Path | None = None,
        feed_dict: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> dict[str, dict[str, float]]:
        """Run source model and parsed graph in float on `feed_dict` (of `parse` by default); compare their outputs.

        Returns for each output `max_abs_difference`, `max_abs_value` and `cosine`, and writes them as JSON to
        `compare_result_output_path`. Other arguments have no effect, which is told in the log `qbcompiler`.
        """
        from qbcompiler.model_dict.parser.compare import compare_outputs

        model_dict = self._result()[0]
        for name in (name for name, value in extra.items() if value):
            _logger.warning("%s has no effect", name)
        if feed_dict is not None:
            TABLE.check("feed_dict", feed_dict)
        feed = self._feed if feed_dict is None else feed_dict
        if not feed:
            raise ArgumentError("there is nothing to run the model on", hint="pass feed_dict")
        found = compare_outputs(self.source, model_dict.opened, feed)
        if compare_result_output_path is not None:
            _write_json(path_of("compare_result_output_path", compare_result_output_path), found)
        return found

    def _result(self) -> tuple[ModelDict, WeightDict]:
        if self._parsed is None:
            raise ArgumentError("the model is not parsed yet", hint="call parse first")
        return self._parsed


def _write_json(path: Path, data: Any) -> None:
    import json

    from qbc.atomic import write_file

    write_file(path, json.dumps(data, indent=2) + "\n")
