// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(quant-materialize,quant-verify)' | filecheck %s

// Scale 0.5 of the input and 2^-7 / 127 of the weights give hu(1 / (0.5*w)) for the bias; rows disappear.
// CHECK-NOT: quant.params
// CHECK-LABEL: @linear
// CHECK: quant.linear %0 {zx = 3, z = -128, lo = -128, hi = -80, plane = "full", weight = #blob.ref<"{{.*}}" : tensor<2x2xi8>>, bias = #blob.ref<"{{.*}}" : tensor<2xi64>>, multiplier = #blob.ref<"{{.*}}" : tensor<2xi64>>, shift = #blob.ref<"{{.*}}" : tensor<2xi64>>} : tensor<1x2x!quant.q<i8, 0.5 : 3>> -> tensor<1x2x!quant.q<i8, 0.125 : -128>> loc("fc")
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 3}
quant.params "b" {storage = i8, scale = 0.125 : f32, zero_point = -128}
func.func @linear(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"a">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f00000000000000000000803f" : tensor<2x2xf32>>, bias = #blob.inline<"0000803f0000803f" : tensor<2xf32>>, activation = "relu6"} : tensor<1x2x!quant.q<"a">> -> tensor<1x2x!quant.q<"b">> loc("fc")
  %y = quant.dequantize %1 : tensor<1x2x!quant.q<"b">> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// -----

// Operations take the name of what the machine does.
// CHECK-LABEL: @names
// CHECK: quant.add %0, %0 {za = 0, zb = 0, ma = 1073741824, mb = -1073741824, s = 30, z = 0, lo = -32768, hi = 32639}
// CHECK: quant.lut16 %{{.*}} {table = #blob.ref<"{{.*}}" : tensor<513xi32>>, lo = -32768, hi = 32639}
// CHECK: quant.mantissa_lut %{{.*}} {function = "sqrt", table = #blob.ref<"{{.*}}" : tensor<2x257xi64>>
// CHECK: quant.reduce_sum %{{.*}} {axes = [1], zx = 0, m = 1073741824, s = 32, z = 0, lo = -32768, hi = 32639}
quant.params "a" {storage = i16, scale = 0.5 : f32, zero_point = 0}
func.func @names(%x: tensor<1x4xf32>) -> tensor<1xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.sub %0, %0 : (tensor<1x4x!quant.q<"a">>, tensor<1x4x!quant.q<"a">>) -> tensor<1x4x!quant.q<"a">>
  %2 = quant.lut %1 {function = "tanh"} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"a">>
  %3 = quant.lut %2 {function = "sqrt"} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"a">>
  %4 = quant.reduce_mean %3 {axes = [1], keep_dims = false} : tensor<1x4x!quant.q<"a">> -> tensor<1x!quant.q<"a">>
  %y = quant.dequantize %4 : tensor<1x!quant.q<"a">> -> tensor<1xf32>
  func.return %y : tensor<1xf32>
}
