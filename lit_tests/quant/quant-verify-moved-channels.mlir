// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-verify{level=ranged})' 2>&1 | filecheck %s

// Scales 1 and 2 may become scales 1, 2, 1, 2 by concatenation, not 2, 1, 2, 1; a transpose of channels needs one scale.
// CHECK: error[VERIFY_ERROR]: 'quant.transpose' op moves codes between rows k, r1
// CHECK-NEXT: at "turned"
// CHECK: error[VERIFY_ERROR]: 'quant.concat' op needs equal encodings, it has 2 different ones
// CHECK-NEXT: at "swapped"
// CHECK: error[VERIFY_ERROR]: 'quant.transpose' op needs equal encodings, it has 2 different ones
// CHECK-NEXT: at "turned"
// CHECK-NOT: error
quant.params "r0" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "r1" {storage = i8, scale = 1.0 : f32, zero_point = 0}
quant.params "k" {storage = i8, scales = #blob.inline<"0000803f00000040" : tensor<2xf32>>, zero_point = 0}
quant.params "kk" {storage = i8, scales = #blob.inline<"0000803f000000400000803f00000040" : tensor<4xf32>>, zero_point = 0}
quant.params "ss" {storage = i8, scales = #blob.inline<"000000400000803f000000400000803f" : tensor<4xf32>>, zero_point = 0}
func.func @main(%x: tensor<1x2xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<2x1xf32>) {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f000000000000000000000041" : tensor<2x2xf32>>} : tensor<1x2x!quant.q<"r0">> -> tensor<1x2x!quant.q<"k">>
  %2 = quant.concat %1, %1 {axis = 1} : (tensor<1x2x!quant.q<"k">>, tensor<1x2x!quant.q<"k">>) -> tensor<1x4x!quant.q<"kk">> loc("right")
  %3 = quant.concat %1, %1 {axis = 1} : (tensor<1x2x!quant.q<"k">>, tensor<1x2x!quant.q<"k">>) -> tensor<1x4x!quant.q<"ss">> loc("swapped")
  %4 = quant.transpose %1 {permutation = [1, 0]} : tensor<1x2x!quant.q<"k">> -> tensor<2x1x!quant.q<"r1">> loc("turned")
  %a = quant.dequantize %2 : tensor<1x4x!quant.q<"kk">> -> tensor<1x4xf32>
  %b = quant.dequantize %3 : tensor<1x4x!quant.q<"ss">> -> tensor<1x4xf32>
  %c = quant.dequantize %4 : tensor<2x1x!quant.q<"r1">> -> tensor<2x1xf32>
  func.return %a, %b, %c : tensor<1x4xf32>, tensor<1x4xf32>, tensor<2x1xf32>
}
