// RUN: qbc-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{expected a weight of shape [4, 3, 3, 3], got [4, 3, 3, 2]}}
  %0 = mblt.conv2d %x {weight = #blob.ref<"w" : tensor<4x3x3x2xf32>>, kernel = [3, 3], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x8x8x3xf32> -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{expected a bias of shape [4], got [3]}}
  %0 = mblt.conv2d %x {weight = #blob.ref<"w" : tensor<4x3x3x3xf32>>, bias = #blob.ref<"b" : tensor<3xf32>>, kernel = [3, 3], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x8x8x3xf32> -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{groups 2 must divide the 3 input and 4 output channels}}
  %0 = mblt.conv2d %x {weight = #blob.ref<"w" : tensor<4x3x3x1xf32>>, kernel = [3, 3], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 2} : tensor<1x8x8x3xf32> -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{expected 4 values in padding, got [0, 0]}}
  %0 = mblt.conv2d %x {weight = #blob.ref<"w" : tensor<4x3x3x3xf32>>, kernel = [3, 3], strides = [1, 1], padding = [0, 0], dilations = [1, 1], groups = 1} : tensor<1x8x8x3xf32> -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{expected the result type tensor<1x8x8x4xf32>, got tensor<1x6x6x4xf32>}}
  %0 = mblt.conv2d %x {weight = #blob.ref<"w" : tensor<4x3x3x3xf32>>, kernel = [3, 3], strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1} : tensor<1x8x8x3xf32> -> tensor<1x6x6x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x2x2x3xf32>) {
  // expected-error@+1 {{the kernel [3, 3] does not fit the padded map of 2x2}}
  %0 = mblt.conv2d %x {weight = #blob.ref<"w" : tensor<4x3x3x3xf32>>, kernel = [3, 3], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x2x2x3xf32> -> tensor<1x1x1x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{activation "clip" needs activation_min and activation_max}}
  %0 = mblt.add %x, %x {activation = "clip", activation_min = 0.0} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{activation must be one of relu, relu6, clip, got 'tanh'}}
  %0 = mblt.add %x, %x {activation = "tanh"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{expected operands of equal rank, got ranks [2, 1]}}
  %0 = mblt.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x2xf32>) {
  // expected-error@+1 {{sizes [3, 2] of axis 1 do not broadcast}}
  %0 = mblt.mul %x, %y : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xi64>) {
  // expected-error@+1 {{expected operands of one element type, got f32 and i64}}
  %0 = mblt.sub %x, %y : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a condition of i1, got f32}}
  %0 = mblt.where %x, %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{min 1.0 is above max 0.0}}
  %0 = mblt.clip %x {min = 1.0, max = 0.0} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{approximate must be none or tanh, got 'fast'}}
  %0 = mblt.gelu %x {approximate = "fast"} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a slope of shape [3], got [2]}}
  %0 = mblt.prelu %x {slope = #blob.ref<"s" : tensor<2xf32>>} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a weight of shape [3, 3], got [3, 4]}}
  %0 = mblt.linear %x {weight = #blob.ref<"w" : tensor<3x4xf32>>} : tensor<2x3xf32> -> tensor<2x4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{inner sizes 3 and 2 differ}}
  %0 = mblt.matmul %x, %x {transpose_b = false} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{normalized_rank 3 is outside 1..2}}
  %0 = mblt.layer_norm %x {normalized_rank = 3, epsilon = 1.000000e-03 : f32} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{variance must be "moments" or absent, got 'squares'}}
  %0 = mblt.layer_norm %x {normalized_rank = 1, epsilon = 1.000000e-03 : f32, variance = "squares"} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is outside the rank 2}}
  %0 = mblt.softmax %x {axis = 2, beta = 1.000000e+00 : f32} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axes must ascend without repeats, got [1, 0]}}
  %0 = mblt.reduce_sum %x {axes = [1, 0], keep_dims = true} : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected at least one axis}}
  %0 = mblt.reduce_sum %x {axes = [], keep_dims = true} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{shapes [2, 3] and [7] differ in size}}
  %0 = mblt.reshape %x : tensor<2x3xf32> -> tensor<7xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{[0, 0] is no permutation of 2 axes}}
  %0 = mblt.transpose %x {permutation = [0, 0]} : tensor<2x3xf32> -> tensor<2x2xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  // expected-error@+1 {{operands differ outside axis 1: [[2, 3], [3, 3]]}}
  %0 = mblt.concat %x, %y {axis = 1} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{slice 1..4 is outside the size 3}}
  %0 = mblt.slice %x {starts = [0, 1], ends = [2, 4], steps = [1, 1]} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{steps must be positive}}
  %0 = mblt.slice %x {starts = [0, 0], ends = [2, 3], steps = [1, 0]} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{sizes [3, 6] of axis 1 do not broadcast}}
  %0 = mblt.expand %x : tensor<2x3xf32> -> tensor<2x6xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{mode must be constant, reflect or edge, got 'wrap'}}
  %0 = mblt.pad %x {before = [0, 0], after = [0, 0], mode = "wrap", value = 0.000000e+00 : f32} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{repeats must be positive}}
  %0 = mblt.tile %x {repeats = [0, 1]} : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{mode must be one of nearest, linear, got 'cubic'}}
  %0 = mblt.resize %x {mode = "cubic", coordinate_mode = "half_pixel", nearest_mode = "floor", scales = [2.0, 2.0]} : tensor<1x8x8x3xf32> -> tensor<1x16x16x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<1x8x8x3xf32>) {
  // expected-error@+1 {{size 8 scaled by 2.0 does not give 24}}
  %0 = mblt.resize %x {mode = "linear", coordinate_mode = "half_pixel", nearest_mode = "floor", scales = [2.0, 2.0]} : tensor<1x8x8x3xf32> -> tensor<1x16x24x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<8x3xf32>) {
  // expected-error@+1 {{expected an operand N, H, W, C of rank 4, got tensor<8x3xf32>}}
  %0 = mblt.max_pool2d %x {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<8x3xf32> -> tensor<8x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a blob or a dense attribute as value, got 3 : i64}}
  %0 = mblt.constant {value = 3} : tensor<2xi64>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected the result type tensor<2x3xf32>, got tensor<2x3xi32>}}
  %0 = mblt.relu %x : tensor<2x3xf32> -> tensor<2x3xi32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected indices of an integer type, got f32}}
  %0 = mblt.gather %x, %x {axis = 0} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{expected floating-point elements, got i32}}
  %0 = mblt.sigmoid %x : tensor<2x3xi32> -> tensor<2x3xi32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{expected floating-point elements, got i32}}
  %0 = mblt.reduce_mean %x {axes = [1], keep_dims = true} : tensor<2x3xi32> -> tensor<2x1xi32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{expected floating-point elements, got i32}}
  %0 = mblt.pow %x, %x : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{expected elements of i1, got i32}}
  %0 = mblt.logical_and %x, %x : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  func.return
}

// -----

func.func @main(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{expected elements of i1, got i32}}
  %0 = mblt.logical_not %x : tensor<2x3xi32> -> tensor<2x3xi32>
  func.return
}

// -----

func.func @main(%x: tensor<?x?x3xf32>) {
  // expected-error@+1 {{at most one size of the result may be unknown}}
  %0 = mblt.reshape %x : tensor<?x?x3xf32> -> tensor<?x3x?xf32>
  func.return
}
