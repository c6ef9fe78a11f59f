"""The page of each error code: what it means, an example, and what to do.

`qbcompiler explain CODE` and docs/errors/CODE.md show it; docs/errors.md lists all. A test runs every example command
in a folder of prepared files and compares the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill

from qbc.errors import ERROR_CODES

WIDTH = 118  # of lines of prose


@dataclass(frozen=True)
class ErrorPage:
    """Beside summary and remedy of the code: its causes, a command that ends with it, and what that command says."""

    causes: str
    command: str
    message: str


ERROR_PAGES: dict[str, ErrorPage] = {
    "ARGUMENT_ERROR": ErrorPage(
        "A flag that does not exist, a value that is not accepted, arguments that exclude each other, a file that "
        "does not exist or is of the wrong kind. In Python the exception is `ArgumentError`, which is a "
        "`ValueError` too.",
        "qbcompiler compile --model model.onnx --output a.mxq --calib-data samples",
        "ERROR [ARGUMENT_ERROR]: unrecognized arguments: --calib-data samples (did you mean --calib-data-path? "
        "qbcompiler --help shows the usage)",
    ),
    "CONFIG_ERROR": ErrorPage(
        "A configuration file, object or section has a key that does not exist or a value of the wrong type or "
        "range. The message gives the path of the key; names of layers and inputs that match nothing are told "
        "too. Keys of older releases are no errors, they give a warning. In Python it is a ConfigError: a "
        "QBCompilerError, a ValueError, and for wrong fields a pydantic.ValidationError too.",
        "qbcompiler compile --model model.onnx --output a.mxq --use-random-calib --compile-config config.yaml",
        "ERROR [CONFIG_ERROR]: config.yaml: calibration.percentil: unknown key, did you mean 'maxPercentile'?",
    ),
    "INVALID_MODEL": ErrorPage(
        "The file is not an ONNX model, is cut off, or breaks a rule of ONNX: a value that nobody makes, shapes "
        "that contradict each other, data that does not fit its type. The message names the node where there is "
        "one.",
        "qbcompiler parse --model damaged.onnx --output a.mblt",
        "ERROR [INVALID_MODEL]: the file is damaged or not an ONNX model (byte 2)",
    ),
    "UNSUPPORTED_OPSET": ErrorPage(
        "The model was exported for a newer operator set than this release knows. Older ones are lifted, whatever "
        "their age.",
        "qbcompiler parse --model newest.onnx --output a.mblt",
        "ERROR [UNSUPPORTED_OPSET]: the model uses opset 99; the newest supported one is 25 (export it with opset "
        "25 or lower)",
    ),
    "MISSING_EXTERNAL_DATA": ErrorPage(
        "An ONNX model may keep its weights in files beside it. Such a file is absent, unreadable or shorter than "
        "the tensor that lies in it. Files outside of the directory of the model are never read.",
        "qbcompiler parse --model external.onnx --output a.mblt",
        "ERROR [MISSING_EXTERNAL_DATA]: external data file 'weights.bin' is not beside the model [node 'conv.weight']",
    ),
    "SHAPE_ERROR": ErrorPage(
        "Programs have fixed shapes. An input has a dimension that stays open, a shape that was given does not "
        "fit the model, or a shape depends on data that only exist at run time. Calibration samples bind open "
        "dimensions too.",
        "qbcompiler compile --model dynamic.onnx --output a.mxq --use-random-calib",
        "ERROR [SHAPE_ERROR]: input 'image' has the shape 1x3x?x?, calibration needs fixed dimensions (bind them with "
        "--input-shape image=1x3x?x?, with a number for each ?)",
    ),
    "UNSUPPORTED_OP": ErrorPage(
        "Operators have no form on the NPU, or not with these attributes and shapes. All of them are listed, each "
        "with the reason. Or the chosen device cannot run them: it lacks a unit, or a size is beyond its limits. "
        "`qbcompiler validate --model FILE --target-device NAME` shows the same lists before anything is compiled.",
        "qbcompiler compile --model other.onnx --output a.mxq --use-random-calib",
        "ERROR [UNSUPPORTED_OP]: 1 operation cannot run on the NPU: determinant: Det: no mblt form "
        "[node 'determinant'] (Change these parts of the model; running them on the host (cpu_offload) is "
        "not available yet.) (in pass convert-mblt-to-quant)",
    ),
    "UNSUPPORTED_FEATURE": ErrorPage(
        "The option is documented, but this release cannot do what it asks for. It is refused rather than "
        "ignored, because the result would be another one than asked for.",
        "qbcompiler compile --model model.onnx --output a.mxq --use-random-calib --cpu-offload",
        "ERROR [UNSUPPORTED_FEATURE]: not available in this version: cpuOffload: running parts of the graph on "
        "the CPU (leave cpuOffload at its default)",
    ),
    "NO_CALIBRATION_DATA": ErrorPage(
        "Quantization needs samples of real inputs, and none were given, or the directory or list holds none. "
        "Random data make a program that runs, and whose accuracy means nothing.",
        "qbcompiler compile --model model.onnx --output a.mxq",
        "ERROR [NO_CALIBRATION_DATA]: No calibration dataset is provided (pass calib_data_path (--calib-data-path), or "
        "use_random_calib for a smoke test)",
    ),
    "INVALID_CALIBRATION_DATA": ErrorPage(
        "A sample has another shape or type than the input, holds NaN or infinity, or its file is broken. The "
        "message names the file and says what was expected; where another order of the axes would fit, it says "
        "which. Pickled arrays are never loaded.",
        "qbcompiler compile --model model.onnx --output a.mxq --calib-data-path wrong",
        "ERROR [INVALID_CALIBRATION_DATA]: wrong/0.npy: input 'image' expects shape [1, 6, 6, 1] or [1, 1, 6, 6] "
        "or [6, 6, 1] or [1, 6, 6], found [1, 1, 6, 5] (save samples of that shape; a preprocessing section resizes "
        "pictures) (in pass quant-collect)",
    ),
    "INVALID_INPUT": ErrorPage(
        "An array that a program should run on has another shape, type or name than its input. The message holds "
        "the status of the runtime with its documented number.",
        "qbcompiler run --mxq model.mxq --input small.npy --core-mode single",
        "ERROR [INVALID_INPUT]: small.npy: Model_ShapeMismatched (21): Input shape is invalid. Input 'image' has "
        "shape [1, 1, 4, 4], expected [1, 6, 6, 1] or [1, 1, 6, 6] (a leading batch axis of 1 may be left out)",
    ),
    "INVALID_SNAPSHOT": ErrorPage(
        "A `.mblt` or `.mxq` is cut off, was changed after it was written, or comes from another program. Every "
        "section has a checksum, so damage is found when the file is opened.",
        "qbcompiler info damaged.mxq",
        "ERROR [INVALID_SNAPSHOT]: 'damaged.mxq' is truncated or has a damaged header (build the file again from "
        "its source)",
    ),
    "UNSUPPORTED_VERSION": ErrorPage(
        "The file has a newer format than this release reads. Files of all older versions are read; formats.md "
        "has the rules.",
        "qbcompiler info newer.mblt",
        "ERROR [UNSUPPORTED_VERSION]: 'newer.mblt' has format version 2, this release reads up to version 1 "
        "(install a newer qbcompiler, or build the file again with this one)",
    ),
    "OUTPUT_WRITE_ERROR": ErrorPage(
        "The directory does not exist or is not writable, the path is a directory or a device, or the disk is "
        "full. Outputs are checked before the work begins, and appear whole or not at all.",
        "qbcompiler parse --model model.onnx --output missing/a.mblt",
        "ERROR [OUTPUT_WRITE_ERROR]: cannot write 'missing/a.mblt': directory 'missing' does not exist",
    ),
    "TARGET_ERROR": ErrorPage(
        "There is no device of that name, a target file is not valid, or the device does not have what was asked "
        "for, such as a core mode that needs more cores.",
        "qbcompiler compile --model model.onnx --output a.mxq --use-random-calib --target-device aries_rb",
        "ERROR [TARGET_ERROR]: unknown target device 'aries_rb' (did you mean 'aries-rb'?)",
    ),
    "QUANTIZATION_ERROR": ErrorPage(
        "The integers of an operation cannot be made: a value has no range because a pass is missing in an edited "
        "pipeline, scales lie so far apart that no multiplier expresses their ratio, or a function is defined "
        "nowhere on the range of its input.",
        "qbc-opt model.mblt --pass-pipeline=convert-mblt-to-quant,quant-materialize",
        "error[QUANTIZATION_ERROR]: 4 values have no encoding yet: a result of quant.quantize; conv, relu; "
        "flatten; linear [node 'conv'] (Run quant-collect and quant-assign-ranges before quant-materialize.)\n"
        '  op: %0 = quant.quantize %1 : tensor<1x6x6x1xf32> -> tensor<1x6x6x1x!quant.q<"r0">>\n'
        "  while running pass quant-materialize",
    ),
    "RESOURCE_ERROR": ErrorPage(
        "The program does not fit the memory of the device, a model does not fit the memory of this machine, or a "
        "library that an option needs is not installed.",
        "qbcompiler compile --model model.onnx --output a.mxq --use-random-calib --target-device small.yaml",
        "ERROR [RESOURCE_ERROR]: the buffers need 192 bytes of DRAM, the target has 64; alive at the peak: "
        "conv/relu (128 bytes), input (64 bytes) (compile a smaller input size) (in pass npu-assign-address)",
    ),
    "PIPELINE_ERROR": ErrorPage(
        "The text of a pipeline has a mistake in its form, names a pass or an option that does not exist, gives "
        "an option a value of the wrong type, or puts a pass where its operation is not.",
        "qbc-opt model.mblt --pass-pipeline=func.func(mblt-fuse-relu)",
        "error[PIPELINE_ERROR]: unknown pass 'mblt-fuse-relu' (did you mean 'mblt-fuse-gelu'?)",
    ),
    "PARSE_ERROR": ErrorPage(
        "IR text has a mistake in its form, or uses an operation, type or attribute that no dialect has.",
        "qbc-opt broken.mlir",
        "error[PARSE_ERROR]: broken.mlir:3:1: expected 0 operand types but had 1\n  }\n  ^",
    ),
    "VERIFY_ERROR": ErrorPage(
        "IR can be read, but an operation breaks a rule of its dialect: a type that is not the inferred one, an "
        "attribute out of range, a value of another form. In an unedited compilation it is a defect of qbcompiler.",
        "qbc-opt invalid.mlir",
        "error[VERIFY_ERROR]: 'mblt.softmax' op axis 7 is outside the rank 4\n"
        '  at "softmax"\n'
        "  op: %0 = mblt.softmax %x {axis = 7, beta = 1.000000e+00 : f32} : tensor<1x4x4x2xf32> -> "
        "tensor<1x4x4x2xf32>",
    ),
    "MISSING_BLOB": ErrorPage(
        "Weights are not part of IR text: operations name them by digest, and the bytes lie in the directory "
        "`NAME.blobs` beside `NAME.mlir`. A pass needs bytes that are not there.",
        "qbc-opt no_blob.mlir --pass-pipeline=func.func(mblt-fold-constants)",
        "error[MISSING_BLOB]: blob '00112233445566778899aabbccddeeff' is not in the store (the weights of "
        "NAME.mlir are in the directory NAME.blobs beside it, or in the one that --blobs names)\n"
        "  at no_blob.mlir:2:3\n"
        '  op: %0 = mblt.constant {value = #blob.ref<"00112233445566778899aabbccddeeff" : tensor<4xf32>>} : '
        "tensor<4xf32>\n"
        "  while running pass mblt-fold-constants",
    ),
    "RUNTIME_ERROR": ErrorPage(
        "An `.mxq` holds no program for the core mode that was asked for, a model is used before it was launched "
        "or after it was disposed, or an index in the data lies outside of the table that it is looked up in.",
        "qbcompiler run --mxq model.mxq --input samples/0.npy --core-mode dual",
        "ERROR [RUNTIME_ERROR]: 'model.mxq' has no program for mode 'dual', variant 0; it has: global4 0, global8 "
        "0, multi 0, single 0",
    ),
    "EXTENSION_ERROR": ErrorPage(
        "A package that adds passes, dialects, targets or frontends through entry points cannot be imported, offers "
        "something of the wrong kind or under a name that another package has too, or raises an exception where it "
        "runs. `qbcompiler check` lists what is installed and what is wrong with it.",
        "qbc-opt model.onnx --pass-pipeline=acme-missing",
        "error[EXTENSION_ERROR]: pass 'acme-missing' of acme-passes 1.0 cannot be loaded: ModuleNotFoundError: No "
        "module named 'acme_passes' (mend or remove acme-passes 1.0)",
    ),
    "INTERRUPTED": ErrorPage(
        "Ctrl-C was pressed, or the process was asked to end. Files that were there before are unchanged.",
        "qbcompiler compile --model model.onnx --output a.mxq --use-random-calib",
        "ERROR [INTERRUPTED]: interrupted, nothing was written",
    ),
    "INTERNAL_ERROR": ErrorPage(
        "Something failed that should not fail whatever the input is. `--crash-reproducer FILE` keeps the module "
        "and the rest of the pipeline, which `qbc-opt` runs again; `QBC_TRACEBACK=1` shows where it happened.",
        "qbcompiler compile --model model.onnx --output a.mxq --use-random-calib",
        "ERROR [INTERNAL_ERROR]: ZeroDivisionError: a defect (set QBC_TRACEBACK=1 to see where)",
    ),
}


def page_file(code: str) -> str:
    """Return where the page of a code lies in the repository."""
    return f"docs/errors/{code}.md"


def page_text(code: str) -> str:
    """Return the page of one error code as Markdown; `code` is a known one."""
    entry, page = ERROR_CODES[code], ERROR_PAGES[code]
    meaning = fill(f"{entry.summary} {page.causes}", WIDTH)
    example = f"```text\n$ {page.command}\n{page.message}\n```"
    remedy = fill(f"What to do: {entry.remedy}", WIDTH)
    return f"# {code}\n\n{meaning}\n\n{example}\n\n{remedy}\n"
