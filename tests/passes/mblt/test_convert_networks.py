"""Real networks convert whole; plain CNNs end without transposes, an attention network with those of its heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from qbc.dialects.common.graph import argument_names, result_names, source_layouts
from qbc.driver.context import make_context
from qbc.frontends.onnx import import_onnx
from qbc.passes.framework.framework_fold_shapes import FrameworkFoldShapes
from qbc.passes.mblt.convert_framework_to_mblt import ConvertFrameworkToMblt
from qbc.passes.mblt.mblt_sink_transposes import MbltSinkTransposes
from qbc.store import BlobStore
from tests.models.efficientnet import efficientnet_path
from tests.models.magika import magika_path
from tests.models.ocr import ppocr_path
from tests.models.tiny import tiny_path
from tests.models.topologies import mobilenetv2_path, resnet50_path
from tests.support.conversion import main

Shapes = dict[str, tuple[int, ...]]
# network, input shapes, layout of the input, transposes left
NETWORKS: dict[str, tuple[Callable[[], Path], Shapes, str | None, int]] = {
    "det": (lambda: ppocr_path("det"), {"x": (1, 3, 320, 320)}, "nchw", 0),
    "cls": (lambda: ppocr_path("cls"), {"x": (1, 3, 48, 192)}, "nchw", 0),
    "rec": (lambda: ppocr_path("rec"), {"x": (1, 3, 48, 320)}, "nchw", 4),
    "efficientnet": (efficientnet_path, {}, "nchw", 0),
    "resnet8": (lambda: tiny_path("resnet8"), {}, "nchw", 0),
    "vww": (lambda: tiny_path("vww"), {}, "nchw", 0),
    "kws": (lambda: tiny_path("kws"), {}, "nchw", 0),
    "ad": (lambda: tiny_path("ad"), {}, None, 0),
    "magika": (magika_path, {"bytes": (1, 2048)}, None, 0),
    "resnet50": (resnet50_path, {}, "nchw", 0),
    "mobilenetv2": (mobilenetv2_path, {}, "nchw", 0),
}


@pytest.mark.parametrize("network", NETWORKS)
def test_a_real_network_converts_whole(network: str) -> None:
    path, shapes, layout, transposes = NETWORKS[network]
    context = make_context(store=BlobStore())
    module = import_onnx(path(), context.store, input_shapes=shapes)
    names = argument_names(main(module)), result_names(main(module))
    FrameworkFoldShapes().run(main(module), context)
    ConvertFrameworkToMblt().run(module, context)
    function = main(module)
    MbltSinkTransposes().run(function, context)
    module.verify()
    assert context.report["conversion"] == []
    assert (argument_names(function), result_names(function)) == names
    assert source_layouts(function.arg_attrs, 1) == [layout]
    counts = Counter(op.name for op in function.body.walk())
    assert {name.partition(".")[0] for name in counts} == {"mblt", "func"}
    assert counts["mblt.transpose"] == transposes
