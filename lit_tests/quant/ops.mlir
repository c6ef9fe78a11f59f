// RUN: qbc-opt %s | qbc-opt | filecheck %s

// Rows print at the top, scales as the shortest text that reads back.
// CHECK: quant.params "r0" {storage = i8, scale = 0.1 : f32, zero_point = -3}
quant.params "r0" {storage = i8, scale = 0.100000001 : f32, zero_point = -3}
// CHECK: quant.params "r1" {storage = i16, scale = 1.0e-05 : f32, zero_point = 0, fixed}
quant.params "r1" {storage = i16, scale = 1.0e-5 : f32, zero_point = 0, fixed}
// CHECK: quant.params "r2"
quant.params "r2"
// CHECK: quant.params "k1" {storage = i8, scales = #blob.ref<"s" : tensor<4xf32>>, zero_point = -7}
quant.params "k1" {storage = i8, scales = #blob.ref<"s" : tensor<4xf32>>, zero_point = -7}

// CHECK-LABEL: @families
func.func @families(%x: tensor<1x4x4x2xf32>, %i: tensor<3xi32>) -> tensor<1x4x4x2xf32> {
  // CHECK: quant.quantize %x : tensor<1x4x4x2xf32> -> tensor<1x4x4x2x!quant.q<"r0">>
  %0 = quant.quantize %x : tensor<1x4x4x2xf32> -> tensor<1x4x4x2x!quant.q<"r0">>
  // CHECK: quant.conv2d %0 {weight = #blob.ref<"w" : tensor<2x3x3x2xf32>>, kernel = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, activation = "relu"} : tensor<1x4x4x2x!quant.q<"r0">> -> tensor<1x4x4x2x!quant.q<"r2">> loc("conv")
  %1 = quant.conv2d %0 {weight = #blob.ref<"w" : tensor<2x3x3x2xf32>>, kernel = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, activation = "relu"} : tensor<1x4x4x2x!quant.q<"r0">> -> tensor<1x4x4x2x!quant.q<"r2">> loc("conv")
  // CHECK: quant.add %1, %0 : (tensor<1x4x4x2x!quant.q<"r2">>, tensor<1x4x4x2x!quant.q<"r0">>) -> tensor<1x4x4x2x!quant.q<"r2">>
  %2 = quant.add %1, %0 : (tensor<1x4x4x2x!quant.q<"r2">>, tensor<1x4x4x2x!quant.q<"r0">>) -> tensor<1x4x4x2x!quant.q<"r2">>
  // CHECK: quant.lut %2 {function = "hard_sigmoid", alpha = 0.2, beta = 0.5}
  %3 = quant.lut %2 {function = "hard_sigmoid", alpha = 0.2, beta = 0.5} : tensor<1x4x4x2x!quant.q<"r2">> -> tensor<1x4x4x2x!quant.q<"r2">>
  // CHECK: quant.max_pool2d %3 {kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false}
  %4 = quant.max_pool2d %3 {kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x4x4x2x!quant.q<"r2">> -> tensor<1x2x2x2x!quant.q<"r2">>
  // CHECK: quant.reduce_mean %4 {axes = [1, 2], keep_dims = false} : tensor<1x2x2x2x!quant.q<"r2">> -> tensor<1x2x!quant.q<"r2">>
  %5 = quant.reduce_mean %4 {axes = [1, 2], keep_dims = false} : tensor<1x2x2x2x!quant.q<"r2">> -> tensor<1x2x!quant.q<"r2">>
  // CHECK: quant.linear %5 {weight = #blob.ref<"f" : tensor<5x2xf32>>} : tensor<1x2x!quant.q<"r2">> -> tensor<1x5x!quant.q<i8, 0.003921569 : -128>>
  %6 = quant.linear %5 {weight = #blob.ref<"f" : tensor<5x2xf32>>} : tensor<1x2x!quant.q<"r2">> -> tensor<1x5x!quant.q<i8, 0.00392156886 : -128>>
  // CHECK: quant.softmax %6 {axis = 1, beta = 1.0}
  %7 = quant.softmax %6 {axis = 1, beta = 1.0} : tensor<1x5x!quant.q<i8, 0.003921569 : -128>> -> tensor<1x5x!quant.q<"r1">>
  // CHECK: quant.gather %7, %i {axis = 1} : (tensor<1x5x!quant.q<"r1">>, tensor<3xi32>) -> tensor<1x3x!quant.q<"r1">>
  %8 = quant.gather %7, %i {axis = 1} : (tensor<1x5x!quant.q<"r1">>, tensor<3xi32>) -> tensor<1x3x!quant.q<"r1">>
  // CHECK: quant.constant {value = #blob.ref<"c" : tensor<1x3xf32>>} : tensor<1x3x!quant.q<"r0">>
  %9 = quant.constant {value = #blob.ref<"c" : tensor<1x3xf32>>} : tensor<1x3x!quant.q<"r0">>
  // CHECK: quant.requantize %8 {activation = "clip", activation_min = -1.0, activation_max = 2.5}
  %10 = quant.requantize %8 {activation = "clip", activation_min = -1.0, activation_max = 2.5} : tensor<1x3x!quant.q<"r1">> -> tensor<1x3x!quant.q<"r0">>
  // CHECK: quant.dequantize %3 : tensor<1x4x4x2x!quant.q<"r2">> -> tensor<1x4x4x2xf32>
  %y = quant.dequantize %3 : tensor<1x4x4x2x!quant.q<"r2">> -> tensor<1x4x4x2xf32>
  func.return %y : tensor<1x4x4x2xf32>
}

// A materialized value whose channels have scales of their own names its row, and says how it is stored.
// CHECK-LABEL: @channels
// CHECK: quant.dequantize %x : tensor<1x4x!quant.q<i8, "k1">> -> tensor<1x4xf32>
func.func @channels(%x: tensor<1x4x!quant.q<i8, "k1">>) -> tensor<1x4xf32> {
  %y = quant.dequantize %x : tensor<1x4x!quant.q<i8, "k1">> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
