// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(quant-canonicalize)' | filecheck %s

// The clamp moves into the linear, the row of its old result disappears, the dead addition too.
// CHECK-NOT: quant.params "b"
// CHECK-LABEL: @absorb
// CHECK: %1 = quant.linear %0 {{{.*}}activation = "relu6"} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"c">> loc(fused["fc", "act"])
// CHECK-NEXT: quant.dequantize %1
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "b" {storage = i8, scale = 0.25 : f32, zero_point = 0}
quant.params "c" {storage = i8, scale = 0.125 : f32, zero_point = 0}
func.func @absorb(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.linear %0 {weight = #blob.ref<"w" : tensor<4x4xf32>>} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"b">> loc("fc")
  %2 = quant.requantize %1 {activation = "relu6"} : tensor<1x4x!quant.q<"b">> -> tensor<1x4x!quant.q<"c">> loc("act")
  %dead = quant.add %0, %2 : (tensor<1x4x!quant.q<"a">>, tensor<1x4x!quant.q<"c">>) -> tensor<1x4x!quant.q<"c">>
  %y = quant.dequantize %2 : tensor<1x4x!quant.q<"c">> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}

// -----

// A pool moves codes, it cannot take another scale; a linear with a clamp keeps its own.
// CHECK-LABEL: @keep
// CHECK: quant.max_pool2d
// CHECK-NEXT: quant.requantize
// CHECK: quant.linear {{.*}}activation = "relu"
// CHECK-NEXT: quant.requantize {{.*}}activation = "relu6"
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "b" {storage = i8, scale = 0.25 : f32, zero_point = 0}
quant.params "c" {storage = i8, scale = 0.125 : f32, zero_point = 0}
func.func @keep(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32> {
  %0 = quant.quantize %x : tensor<1x4x4x2xf32> -> tensor<1x4x4x2x!quant.q<"a">>
  %1 = quant.max_pool2d %0 {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x4x4x2x!quant.q<"a">> -> tensor<1x4x4x2x!quant.q<"a">>
  %2 = quant.requantize %1 : tensor<1x4x4x2x!quant.q<"a">> -> tensor<1x4x4x2x!quant.q<"b">>
  %3 = quant.linear %2 {weight = #blob.ref<"w" : tensor<2x2xf32>>, activation = "relu"} : tensor<1x4x4x2x!quant.q<"b">> -> tensor<1x4x4x2x!quant.q<"b">>
  %4 = quant.requantize %3 {activation = "relu6"} : tensor<1x4x4x2x!quant.q<"b">> -> tensor<1x4x4x2x!quant.q<"c">>
  %y = quant.dequantize %4 : tensor<1x4x4x2x!quant.q<"c">> -> tensor<1x4x4x2xf32>
  func.return %y : tensor<1x4x4x2xf32>
}
