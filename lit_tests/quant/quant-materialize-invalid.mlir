// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-materialize)' 2>&1 | filecheck %s

// CHECK: error[QUANTIZATION_ERROR]: 2 values have no encoding yet
// CHECK-SAME: fc
// CHECK-NOT: Traceback
quant.params "a" {storage = i8}
quant.params "b" {storage = i8}
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"a">> loc("x")
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f00000000000000000000803f" : tensor<2x2xf32>>} : tensor<1x2x!quant.q<"a">> -> tensor<1x2x!quant.q<"b">> loc("fc")
  %y = quant.dequantize %1 : tensor<1x2x!quant.q<"b">> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
