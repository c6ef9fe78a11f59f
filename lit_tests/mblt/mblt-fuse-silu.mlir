// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-silu))' | filecheck %s

// CHECK-LABEL: func.func @fuses
// CHECK-NEXT: mblt.silu %x : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: func.return
func.func @fuses(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mblt.sigmoid %x : tensor<4xf32> -> tensor<4xf32>
  %1 = mblt.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// The sigmoid of another value is a gate.
// CHECK-LABEL: func.func @gate
// CHECK-NEXT: mblt.sigmoid
// CHECK-NEXT: mblt.mul
func.func @gate(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mblt.sigmoid %y : tensor<4xf32> -> tensor<4xf32>
  %1 = mblt.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
