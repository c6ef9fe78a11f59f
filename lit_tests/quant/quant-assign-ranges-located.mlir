// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-assign-ranges)' 2>&1 | filecheck %s

// A row without statistics is told with the operation that makes its value.
// CHECK: error[QUANTIZATION_ERROR]: row 'a' has no statistics [node 'in'] (run quant-collect before quant-assign-ranges)
// CHECK-NEXT: at "in"
// CHECK-NEXT: op: %{{[0-9]+}} = quant.quantize
// CHECK-NEXT: while running pass quant-assign-ranges
quant.params "a" {storage = i8}
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"a">> loc("in")
  %y = quant.dequantize %0 : tensor<1x2x!quant.q<"a">> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
