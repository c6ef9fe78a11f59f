// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-activation))' | filecheck %s

// Clamps in a row become the activation of the op before them.
// CHECK-LABEL: func.func @fuses
// CHECK-NEXT: mblt.add %x, %y {activation = "clip", activation_min = 0.0, activation_max = 0.5}
// CHECK-NEXT: func.return
func.func @fuses(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mblt.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = mblt.relu %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.clip %1 {min = -1.0, max = 0.5} : tensor<4xf32> -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// No op carries the clamp of a lookup, nor that of a shared value.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT: mblt.tanh
// CHECK-NEXT: mblt.relu
// CHECK-NEXT: mblt.add
// CHECK-NOT: activation
// CHECK: mblt.relu
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mblt.tanh %x : tensor<4xf32> -> tensor<4xf32>
  %1 = mblt.relu %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.add %1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mblt.relu %2 : tensor<4xf32> -> tensor<4xf32>
  func.return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
