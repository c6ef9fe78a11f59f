// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(quant-insert-requant)' | filecheck %s

// %0 has another user, so it is rescaled once; the linear targets the wanted encoding itself.
// CHECK-LABEL: @concat
// CHECK: %0 = quant.quantize
// CHECK-NEXT: %[[R:.*]] = quant.requantize %0 : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"c">>
// CHECK-NEXT: %[[L:.*]] = quant.linear %0 {{.*}} -> tensor<1x4x!quant.q<"c">>
// CHECK-NEXT: quant.concat %[[R]], %[[L]], %[[R]] {axis = 1}
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "b" {storage = i8, scale = 0.25 : f32, zero_point = 0}
quant.params "c" {storage = i8, scale = 0.125 : f32, zero_point = 0}
func.func @concat(%x: tensor<1x4xf32>) -> tensor<1x12xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.linear %0 {weight = #blob.ref<"w" : tensor<4x4xf32>>} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"b">>
  %2 = quant.concat %0, %1, %0 {axis = 1} : (tensor<1x4x!quant.q<"a">>, tensor<1x4x!quant.q<"b">>, tensor<1x4x!quant.q<"a">>) -> tensor<1x12x!quant.q<"c">>
  %y = quant.dequantize %2 : tensor<1x12x!quant.q<"c">> -> tensor<1x12xf32>
  func.return %y : tensor<1x12xf32>
}

// -----

// Equal encodings need nothing, whatever the rows are called; an addition rescales by itself.
// CHECK-LABEL: @equal
// CHECK-NOT: quant.requantize
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "b" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "c" {storage = i8, scale = 0.125 : f32, zero_point = 0}
func.func @equal(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.maximum %0, %0 : (tensor<1x4x!quant.q<"a">>, tensor<1x4x!quant.q<"a">>) -> tensor<1x4x!quant.q<"b">>
  %2 = quant.add %0, %1 : (tensor<1x4x!quant.q<"a">>, tensor<1x4x!quant.q<"b">>) -> tensor<1x4x!quant.q<"c">>
  %y = quant.dequantize %2 : tensor<1x4x!quant.q<"c">> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
