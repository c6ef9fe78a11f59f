// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-layer-norm,mblt-fold-norm-affine))' | filecheck %s

// CHECK-LABEL: func.func @quotient
// CHECK-NEXT: mblt.layer_norm %x {{.*}}normalized_rank = 1{{.*}}scale = #blob.ref<{{.*}} : tensor<4xf32>>
// CHECK-NEXT: func.return
func.func @quotient(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = mblt.constant {value = #blob.inline<"0000803f" : tensor<1x1xf32>>} : tensor<1x1xf32>
  %m = mblt.reduce_mean %x {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %d = mblt.sub %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = mblt.square %d : tensor<2x4xf32> -> tensor<2x4xf32>
  %v = mblt.reduce_mean %q {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %w = mblt.add %v, %e : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %s = mblt.sqrt %w : tensor<2x1xf32> -> tensor<2x1xf32>
  %0 = mblt.div %d, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %g = mblt.constant {value = #blob.inline<"00000040" : tensor<1x1xf32>>} : tensor<1x1xf32>
  %1 = mblt.mul %0, %g : (tensor<2x4xf32>, tensor<1x1xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// -----

// A variance spelled mean(x^2) - mean(x)^2 is remembered.
// CHECK-LABEL: func.func @moments
// CHECK-NEXT: mblt.layer_norm %x {epsilon = 1.000000e+00 : f32, normalized_rank = 1, variance = "moments"}
// CHECK-NEXT: func.return
func.func @moments(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = mblt.constant {value = #blob.inline<"0000803f" : tensor<1x1xf32>>} : tensor<1x1xf32>
  %m = mblt.reduce_mean %x {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %d = mblt.sub %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = mblt.square %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %p = mblt.reduce_mean %q {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %r = mblt.square %m : tensor<2x1xf32> -> tensor<2x1xf32>
  %v = mblt.sub %p, %r : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %w = mblt.add %v, %e : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %s = mblt.sqrt %w : tensor<2x1xf32> -> tensor<2x1xf32>
  %0 = mblt.div %d, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

// Mean and variance over different axes are no layer norm.
// CHECK-LABEL: func.func @other_axes
// CHECK-NOT: mblt.layer_norm
// CHECK: mblt.div
func.func @other_axes(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = mblt.constant {value = #blob.inline<"0000803f" : tensor<1x1xf32>>} : tensor<1x1xf32>
  %m = mblt.reduce_mean %x {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %d = mblt.sub %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %q = mblt.square %d : tensor<2x4xf32> -> tensor<2x4xf32>
  %v = mblt.reduce_mean %q {axes = [0], keep_dims = true} : tensor<2x4xf32> -> tensor<1x4xf32>
  %w = mblt.add %v, %e : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  %s = mblt.sqrt %w : tensor<1x4xf32> -> tensor<1x4xf32>
  %0 = mblt.div %d, %s : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
