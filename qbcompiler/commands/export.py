"""`export`: parsed graphs as ONNX, in float or quantized (QDQ)."""

from __future__ import annotations

import argparse
from pathlib import Path

from qbc.errors import ArgumentError
from qbcompiler.channel import channel

_ONLY_QDQ = ("calib_data_path", "use_random_calib", "target_device", "config_preset", "compile_config")


def export(options: argparse.Namespace) -> int:
    """Write the graph of a `.mblt` as ONNX."""
    if options.qdq:
        return _export_qdq(options)
    for name in _ONLY_QDQ:
        if getattr(options, name):
            raise ArgumentError(f"--{name.replace('_', '-')} belongs to --qdq", hint="float graphs need no calibration")
    from qbc.driver.inspect import open_mblt
    from qbc.driver.outputs import check_output
    from qbc.driver.samples import main_function
    from qbc.export.onnx import save_mblt_onnx

    check_output(options.mblt, options.output, ".onnx")
    opened = open_mblt(Path(options.mblt))
    source_layout = options.layout == "source"
    save_mblt_onnx(main_function(opened.module), opened.ctx.store, options.output, source_layout=source_layout)
    channel().result("export", {"output": str(options.output)}, f"wrote {options.output}")
    return 0


def _export_qdq(options: argparse.Namespace) -> int:
    from qbc.driver.plan import CompileOptions
    from qbc.driver.qdq import write_qdq

    if options.layout != "source":
        raise ArgumentError("--qdq writes the layout of the source model", hint="leave --layout out")
    paths = options.calib_data_path
    settings = CompileOptions(
        target=options.target_device,
        calibration=(paths[0] if len(paths) == 1 else paths) if paths else None,
        random_calibration=bool(options.use_random_calib),
        preset=options.config_preset,
        compile_config=options.compile_config,
        arguments={} if options.use_random_calib is None else {"use_random_calib": options.use_random_calib},
        on_event=channel().sink(quiet=False),
    )
    written = write_qdq(Path(options.mblt), options.output, settings)
    data = {"output": str(written.output), "values": written.values, "weighted_layers": written.layers}
    text = f"wrote {written.output} ({written.values} quantized values, {written.layers} layers with weights)"
    channel().result("export", data, text)
    return 0
