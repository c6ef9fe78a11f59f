// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(quant-bias-correction)' --verify-diagnostics | filecheck %s
// RUN: not qbc-opt %s --split-input-file --pass-pipeline='builtin.module(quant-bias-correction{layers="fcc"})' 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: error[ARGUMENT_ERROR]: layers: 'fcc' is the name of no layer (Nearest names: fc.)

// The second weight falls between two codes; bias_delta is what rounding it takes away, times the mean input.
// CHECK: quant.linear %0 {weight = {{.*}}, bias_delta = #blob.ref<{{.*}} : tensor<1xf32>>, input_mean = {{.*}}}
quant.params "r0"
quant.params "r1"
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"4260853f1283803f" : tensor<1x2xf32>>, input_mean = #blob.inline<"0000803f00000040" : tensor<2xf32>>} : tensor<1x2x!quant.q<"r0">> -> tensor<1x1x!quant.q<"r1">> loc("fc")
  %2 = quant.dequantize %1 : tensor<1x1x!quant.q<"r1">> -> tensor<1x1xf32>
  func.return %2 : tensor<1x1xf32>
}

// -----

quant.params "r0"
quant.params "r1"
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"r0">>
  // expected-error@+1 {{has no mean input}}
  %1 = quant.linear %0 {weight = #blob.inline<"4260853f1283803f" : tensor<1x2xf32>>} : tensor<1x2x!quant.q<"r0">> -> tensor<1x1x!quant.q<"r1">>
  %2 = quant.dequantize %1 : tensor<1x1x!quant.q<"r1">> -> tensor<1x1xf32>
  func.return %2 : tensor<1x1xf32>
}
