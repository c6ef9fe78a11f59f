// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fold-one-hot))' | filecheck %s

// CHECK-LABEL: func.func @folds
// CHECK-NEXT: %[[ROWS:.*]] = mblt.constant {value = #blob.ref<{{.*}} : tensor<3x1xf32>>}
// CHECK-NEXT: mblt.gather %[[ROWS]], %x {axis = 0} : (tensor<3x1xf32>, tensor<2xi32>) -> tensor<2x1xf32>
// CHECK-NEXT: func.return
func.func @folds(%x: tensor<2xi32>) -> tensor<2x1xf32> {
  %range = mblt.constant {value = dense<[[0, 1, 2]]> : tensor<1x3xi32>} : tensor<1x3xi32>
  %0 = mblt.reshape %x : tensor<2xi32> -> tensor<2x1xi32>
  %1 = mblt.equal %0, %range : (tensor<2x1xi32>, tensor<1x3xi32>) -> tensor<2x3xi1>
  %2 = mblt.cast %1 : tensor<2x3xi1> -> tensor<2x3xf32>
  %3 = mblt.linear %2 {weight = #blob.inline<"0000803f0000004000004040" : tensor<1x3xf32>>} : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return %3 : tensor<2x1xf32>
}

// -----

// Other numbers than 0, 1, 2.
// CHECK-LABEL: func.func @other_numbers
// CHECK-NOT: mblt.gather
// CHECK: mblt.linear
func.func @other_numbers(%x: tensor<2xi32>) -> tensor<2x1xf32> {
  %range = mblt.constant {value = dense<[[0, 1, 3]]> : tensor<1x3xi32>} : tensor<1x3xi32>
  %0 = mblt.reshape %x : tensor<2xi32> -> tensor<2x1xi32>
  %1 = mblt.equal %0, %range : (tensor<2x1xi32>, tensor<1x3xi32>) -> tensor<2x3xi1>
  %2 = mblt.cast %1 : tensor<2x3xi1> -> tensor<2x3xf32>
  %3 = mblt.linear %2 {weight = #blob.inline<"0000803f0000004000004040" : tensor<1x3xf32>>} : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return %3 : tensor<2x1xf32>
}
