// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-group-scales{method=2})' | filecheck %s
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-group-scales{tie-ratio=0.5})' 2>&1 | filecheck %s --check-prefix=WRONG

// Without statistics nothing is tied.
// CHECK: quant.params "a" {storage = i8}
// CHECK-NEXT: quant.params "b" {storage = i8}
// WRONG: error[PIPELINE_ERROR]: pass 'quant-group-scales': tie-ratio is 0.5, it must be at least 1
quant.params "a" {storage = i8}
quant.params "b" {storage = i8}
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.maximum %0, %0 : (tensor<1x4x!quant.q<"a">>, tensor<1x4x!quant.q<"a">>) -> tensor<1x4x!quant.q<"b">>
  %y = quant.dequantize %1 : tensor<1x4x!quant.q<"b">> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
