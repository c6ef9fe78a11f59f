// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-simplify-reshape))' | filecheck %s

// A squeeze sinks until it meets its inverse.
// CHECK-LABEL: func.func @meets
// CHECK-NEXT: %[[M:.*]] = mblt.reduce_mean %x {keep_dims = true, axes = [1]} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
// CHECK-NEXT: mblt.square %[[M]] : tensor<2x1x4xf32> -> tensor<2x1x4xf32>
// CHECK-NEXT: func.return
func.func @meets(%x: tensor<2x3x4xf32>) -> tensor<2x1x4xf32> {
  %0 = mblt.reduce_mean %x {axes = [1], keep_dims = false} : tensor<2x3x4xf32> -> tensor<2x4xf32>
  %1 = mblt.square %0 : tensor<2x4xf32> -> tensor<2x4xf32>
  %2 = mblt.reshape %1 : tensor<2x4xf32> -> tensor<2x1x4xf32>
  func.return %2 : tensor<2x1x4xf32>
}

// -----

// A reshape that joins axes stays where it is.
// CHECK-LABEL: func.func @joins
// CHECK-NEXT: mblt.reshape
// CHECK-NEXT: mblt.square
func.func @joins(%x: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
  %0 = mblt.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = mblt.square %0 : tensor<6x4xf32> -> tensor<6x4xf32>
  func.return %1 : tensor<6x4xf32>
}
