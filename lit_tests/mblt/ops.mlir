// RUN: qbc-opt %s --no-locations | filecheck %s
// RUN: qbc-opt %s --no-locations | qbc-opt --no-locations | filecheck %s
// RUN: qbc-opt %s --no-locations --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @products
// GENERIC: "mblt.conv2d"(%x) <{weight = #blob.ref<"w0" : tensor<16x3x3x3xf32>>, bias = #blob.ref<"b0" : tensor<16xf32>>, kernel = array<i64: 3, 3>
func.func @products(%x: tensor<1x8x10x3xf32>, %v: tensor<2x5xf32>, %a: tensor<1x4x6xf32>) {
  // CHECK: mblt.conv2d %x {weight = #blob.ref<"w0" : tensor<16x3x3x3xf32>>, bias = #blob.ref<"b0" : tensor<16xf32>>, kernel = [3, 3], strides = [2, 1], padding = [1, 0, 1, 2], dilations = [1, 1], groups = 1, activation = "relu"} : tensor<1x8x10x3xf32> -> tensor<1x4x10x16xf32>
  %0 = mblt.conv2d %x {weight = #blob.ref<"w0" : tensor<16x3x3x3xf32>>, bias = #blob.ref<"b0" : tensor<16xf32>>, kernel = [3, 3], strides = [2, 1], padding = [1, 0, 1, 2], dilations = [1, 1], groups = 1, activation = "relu"} : tensor<1x8x10x3xf32> -> tensor<1x4x10x16xf32>
  // CHECK: mblt.transpose_conv2d %x {weight = #blob.ref<"w1" : tensor<6x2x2x1xf32>>, kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 3, output_padding = [1, 0], activation = "clip", activation_min = -1.0, activation_max = 1.5} : tensor<1x8x10x3xf32> -> tensor<1x17x20x6xf32>
  %1 = mblt.transpose_conv2d %x {weight = #blob.ref<"w1" : tensor<6x2x2x1xf32>>, kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 3, output_padding = [1, 0], activation = "clip", activation_min = -1.0, activation_max = 1.5} : tensor<1x8x10x3xf32> -> tensor<1x17x20x6xf32>
  // CHECK: mblt.linear %v {weight = #blob.ref<"w2" : tensor<4x5xf32>>} : tensor<2x5xf32> -> tensor<2x4xf32>
  %2 = mblt.linear %v {weight = #blob.ref<"w2" : tensor<4x5xf32>>} : tensor<2x5xf32> -> tensor<2x4xf32>
  // CHECK: mblt.matmul %a, %a {transpose_b = true} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x4xf32>
  %3 = mblt.matmul %a, %a {transpose_b = true} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x4xf32>
  func.return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<2x3xf32>, %row: tensor<1x3xf32>, %n: tensor<?x3xf32>) {
  // CHECK: mblt.constant {value = dense<[1, 2]> : tensor<2xi64>} : tensor<2xi64>
  %0 = mblt.constant {value = dense<[1, 2]> : tensor<2xi64>} : tensor<2xi64>
  // CHECK: mblt.constant {value = #blob.inline<"0000803f" : tensor<1xf32>>} : tensor<1xf32>
  %1 = mblt.constant {value = #blob.inline<"0000803f" : tensor<1xf32>>} : tensor<1xf32>
  // CHECK: mblt.add %x, %row {activation = "relu6"} : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %2 = mblt.add %x, %row {activation = "relu6"} : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  // CHECK: mblt.mul %n, %row : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
  %3 = mblt.mul %n, %row : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
  // CHECK: mblt.greater %x, %row : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
  %4 = mblt.greater %x, %row : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
  // CHECK: mblt.where %4, %x, %row : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %5 = mblt.where %4, %x, %row : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  // CHECK: mblt.clip %x {min = -0.5, max = 6.0} : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = mblt.clip %x {min = -0.5, max = 6.0} : tensor<2x3xf32> -> tensor<2x3xf32>
  // An open bound is infinite.
  // CHECK: mblt.clip %x {min = 0.0, max = 0x7ff0000000000000 : f64} : tensor<2x3xf32> -> tensor<2x3xf32>
  %7 = mblt.clip %x {min = 0.0, max = 0x7ff0000000000000 : f64} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: mblt.hard_sigmoid %x {alpha = 0.166666672 : f32, beta = 5.000000e-01 : f32} : tensor<2x3xf32> -> tensor<2x3xf32>
  %8 = mblt.hard_sigmoid %x {alpha = 0.166666672 : f32, beta = 5.000000e-01 : f32} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: mblt.gelu %x {approximate = "tanh"} : tensor<2x3xf32> -> tensor<2x3xf32>
  %9 = mblt.gelu %x {approximate = "tanh"} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: mblt.prelu %x {slope = #blob.ref<"s" : tensor<3xf32>>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %10 = mblt.prelu %x {slope = #blob.ref<"s" : tensor<3xf32>>} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: mblt.rsqrt %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %11 = mblt.rsqrt %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @maps
func.func @maps(%x: tensor<1x7x9x4xf32>) {
  // CHECK: mblt.max_pool2d %x {kernel = [2, 3], strides = [2, 2], padding = [0, 1, 0, 1], dilations = [1, 1], ceil_mode = true} : tensor<1x7x9x4xf32> -> tensor<1x4x5x4xf32>
  %0 = mblt.max_pool2d %x {kernel = [2, 3], strides = [2, 2], padding = [0, 1, 0, 1], dilations = [1, 1], ceil_mode = true} : tensor<1x7x9x4xf32> -> tensor<1x4x5x4xf32>
  // CHECK: mblt.avg_pool2d %x {kernel = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], ceil_mode = false, count_include_pad = true} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  %1 = mblt.avg_pool2d %x {kernel = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], ceil_mode = false, count_include_pad = true} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  // CHECK: mblt.resize %x {mode = "linear", coordinate_mode = "half_pixel", nearest_mode = "floor", scales = [2.0, 1.5]} : tensor<1x7x9x4xf32> -> tensor<1x14x13x4xf32>
  %2 = mblt.resize %x {mode = "linear", coordinate_mode = "half_pixel", nearest_mode = "floor", scales = [2.0, 1.5]} : tensor<1x7x9x4xf32> -> tensor<1x14x13x4xf32>
  // CHECK: mblt.batch_norm %x {scale = #blob.ref<"s" : tensor<4xf32>>, bias = #blob.ref<"b" : tensor<4xf32>>, mean = #blob.ref<"m" : tensor<4xf32>>, variance = #blob.ref<"v" : tensor<4xf32>>, epsilon = 1.000000e-03 : f32} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  %3 = mblt.batch_norm %x {scale = #blob.ref<"s" : tensor<4xf32>>, bias = #blob.ref<"b" : tensor<4xf32>>, mean = #blob.ref<"m" : tensor<4xf32>>, variance = #blob.ref<"v" : tensor<4xf32>>, epsilon = 1.000000e-03 : f32} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  // CHECK: mblt.instance_norm %x {scale = #blob.ref<"s" : tensor<4xf32>>, bias = #blob.ref<"b" : tensor<4xf32>>, epsilon = 1.000000e-03 : f32}
  %4 = mblt.instance_norm %x {scale = #blob.ref<"s" : tensor<4xf32>>, bias = #blob.ref<"b" : tensor<4xf32>>, epsilon = 1.000000e-03 : f32} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  // CHECK: mblt.layer_norm %x {normalized_rank = 2, scale = #blob.ref<"g" : tensor<9x4xf32>>, epsilon = 1.000000e-03 : f32}
  %5 = mblt.layer_norm %x {normalized_rank = 2, scale = #blob.ref<"g" : tensor<9x4xf32>>, epsilon = 1.000000e-03 : f32} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  // CHECK: mblt.layer_norm %x {normalized_rank = 1, epsilon = 1.000000e-03 : f32, variance = "moments"}
  %ln = mblt.layer_norm %x {normalized_rank = 1, epsilon = 1.000000e-03 : f32, variance = "moments"} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  // CHECK: mblt.softmax %x {axis = 3, beta = 1.000000e+00 : f32}
  %6 = mblt.softmax %x {axis = 3, beta = 1.000000e+00 : f32} : tensor<1x7x9x4xf32> -> tensor<1x7x9x4xf32>
  // CHECK: mblt.reduce_mean %x {axes = [1, 2], keep_dims = false} : tensor<1x7x9x4xf32> -> tensor<1x4xf32>
  %7 = mblt.reduce_mean %x {axes = [1, 2], keep_dims = false} : tensor<1x7x9x4xf32> -> tensor<1x4xf32>
  // CHECK: mblt.arg_max %x {axis = -1, keep_dims = true} : tensor<1x7x9x4xf32> -> tensor<1x7x9x1xi64>
  %8 = mblt.arg_max %x {axis = -1, keep_dims = true} : tensor<1x7x9x4xf32> -> tensor<1x7x9x1xi64>
  func.return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3x4xf32>, %i: tensor<5xi32>) {
  // CHECK: mblt.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %0 = mblt.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  // CHECK: mblt.transpose %x {permutation = [0, 2, 1]} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %1 = mblt.transpose %x {permutation = [0, 2, 1]} : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  // CHECK: mblt.concat %x, %x, %x {axis = 1} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x9x4xf32>
  %2 = mblt.concat %x, %x, %x {axis = 1} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x9x4xf32>
  // CHECK: mblt.slice %x {starts = [0, 1, 0], ends = [2, 3, 4], steps = [1, 1, 3]} : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
  %3 = mblt.slice %x {starts = [0, 1, 0], ends = [2, 3, 4], steps = [1, 1, 3]} : tensor<2x3x4xf32> -> tensor<2x2x2xf32>
  // CHECK: mblt.expand %3 : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %4 = mblt.expand %3 : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  // CHECK: mblt.pad %x {before = [0, 1, 0], after = [0, 0, 2], mode = "edge", value = 0.000000e+00 : f32} : tensor<2x3x4xf32> -> tensor<2x4x6xf32>
  %5 = mblt.pad %x {before = [0, 1, 0], after = [0, 0, 2], mode = "edge", value = 0.000000e+00 : f32} : tensor<2x3x4xf32> -> tensor<2x4x6xf32>
  // CHECK: mblt.gather %x, %i {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi32>) -> tensor<2x5x4xf32>
  %6 = mblt.gather %x, %i {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi32>) -> tensor<2x5x4xf32>
  // CHECK: mblt.tile %x {repeats = [1, 2, 3]} : tensor<2x3x4xf32> -> tensor<2x6x12xf32>
  %7 = mblt.tile %x {repeats = [1, 2, 3]} : tensor<2x3x4xf32> -> tensor<2x6x12xf32>
  // CHECK: mblt.cast %i : tensor<5xi32> -> tensor<5xf32>
  %8 = mblt.cast %i : tensor<5xi32> -> tensor<5xf32>
  func.return
}
