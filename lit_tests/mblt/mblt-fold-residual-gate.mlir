// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fold-residual-gate))' | filecheck %s

// CHECK-LABEL: func.func @folds
// CHECK-NEXT: %[[ONE:.*]] = mblt.constant
// CHECK-NEXT: %[[GATE:.*]] = mblt.add %gate, %[[ONE]] : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x4xf32>
// CHECK-NEXT: mblt.mul %x, %[[GATE]]
// CHECK-NEXT: func.return
func.func @folds(%x: tensor<1x8x4xf32>, %gate: tensor<1x1x4xf32>) -> tensor<1x8x4xf32> {
  %0 = mblt.mul %x, %gate : (tensor<1x8x4xf32>, tensor<1x1x4xf32>) -> tensor<1x8x4xf32>
  %1 = mblt.add %x, %0 : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  func.return %1 : tensor<1x8x4xf32>
}

// -----

// A gate as large as the map would only move the addition.
// CHECK-LABEL: func.func @large_gate
// CHECK-NEXT: mblt.mul
// CHECK-NEXT: mblt.add
func.func @large_gate(%x: tensor<1x8x4xf32>, %gate: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
  %0 = mblt.mul %x, %gate : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %1 = mblt.add %x, %0 : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  func.return %1 : tensor<1x8x4xf32>
}
