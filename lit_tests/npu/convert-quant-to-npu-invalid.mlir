// RUN: not qbc-opt %s --split-input-file --pass-pipeline='convert-quant-to-npu' 2>&1 | filecheck %s

// CHECK: error[VERIFY_ERROR]: 'quant.quantize' op graph input 'image' has 2 encodings, it must have one
func.func @two(%x: tensor<1x4xf32> {mblt.name = "image"}) -> (tensor<1x4xf32> {mblt.name = "logits"}) {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<i8, 0.5 : 3>>
  %1 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<i8, 1.0 : 3>>
  %2 = quant.dequantize %0 : tensor<1x4x!quant.q<i8, 0.5 : 3>> -> tensor<1x4xf32>
  func.return %2 : tensor<1x4xf32>
}
