// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-softmax))' | filecheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: mblt.softmax %x {{.*}}axis = 1{{.*}} : tensor<2x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: func.return
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %m = mblt.reduce_max %x {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %d = mblt.sub %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %e = mblt.exp %d : tensor<2x4xf32> -> tensor<2x4xf32>
  %s = mblt.reduce_sum %e {axes = [1], keep_dims = true} : tensor<2x4xf32> -> tensor<2x1xf32>
  %0 = mblt.div %e, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

// A sum over both axes is no softmax.
// CHECK-LABEL: func.func @both_axes
// CHECK-NOT: mblt.softmax
// CHECK: mblt.div
func.func @both_axes(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = mblt.exp %x : tensor<2x4xf32> -> tensor<2x4xf32>
  %s = mblt.reduce_sum %e {axes = [0, 1], keep_dims = true} : tensor<2x4xf32> -> tensor<1x1xf32>
  %0 = mblt.div %e, %s : (tensor<2x4xf32>, tensor<1x1xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
