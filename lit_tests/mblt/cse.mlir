// RUN: qbc-opt %s --split-input-file --pass-pipeline='cse' | filecheck %s

// Equal ops are computed once; the op that stays names both nodes.
// CHECK-LABEL: func.func @equal
// CHECK-NEXT: %[[R:.*]] = mblt.relu %x : tensor<4xf32> -> tensor<4xf32> loc(fused["first", "second"])
// CHECK-NEXT: mblt.add %[[R]], %[[R]]
func.func @equal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mblt.relu %x : tensor<4xf32> -> tensor<4xf32> loc("first")
  %1 = mblt.relu %x : tensor<4xf32> -> tensor<4xf32> loc("second")
  %2 = mblt.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
  func.return %2 : tensor<4xf32>
}

// -----

// Other properties, other ops.
// CHECK-LABEL: func.func @different
// CHECK-COUNT-2: mblt.leaky_relu
func.func @different(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = mblt.leaky_relu %x {alpha = 0.5 : f32} : tensor<4xf32> -> tensor<4xf32>
  %1 = mblt.leaky_relu %x {alpha = 0.25 : f32} : tensor<4xf32> -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
