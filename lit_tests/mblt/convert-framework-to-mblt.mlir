// RUN: qbc-opt %s --pass-pipeline='convert-framework-to-mblt' --no-locations --split-input-file | filecheck %s

// Layout-sensitive ops stand between transposes; argument names become mblt names.
// CHECK-LABEL: func.func @conv(%x: tensor<1x1x4x4xf32> {mblt.name = "image"}) -> (tensor<1x1x2x2xf32> {mblt.name = "y"})
// CHECK-NEXT: %[[X:.*]] = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x1x4x4xf32> -> tensor<1x4x4x1xf32>
// CHECK-NEXT: %[[C:.*]] = mblt.conv2d %[[X]] {{.*}}kernel = [1, 1]{{.*}} : tensor<1x4x4x1xf32> -> tensor<1x2x2x1xf32>
// CHECK-NEXT: %[[Y:.*]] = mblt.transpose %[[C]] {permutation = [0, 3, 1, 2]} : tensor<1x2x2x1xf32> -> tensor<1x1x2x2xf32>
// CHECK-NEXT: mblt.relu %[[Y]] : tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
func.func @conv(%x: tensor<1x1x4x4xf32> {framework.name = "image"}) -> (tensor<1x1x2x2xf32> {framework.name = "y"}) {
  %w = framework.Constant #blob.inline<"0000803f" : tensor<1x1x1x1xf32>>
  %0 = framework.Conv(%x, %w) {strides = [2, 2]} : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %1 = framework.Relu(%0) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  func.return %1 : tensor<1x1x2x2xf32>
}

// -----

// What has no mblt form stays as it is, and its operands keep the layout of the source model.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: %[[A:.*]] = mblt.relu %x
// CHECK-NEXT: %[[N:.*]] = framework.Hardmax(%[[A]]) {axis = 1{{.*}}} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
// CHECK-NEXT: func.return %[[N]]
func.func @kept(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %0 = framework.Relu(%x) : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %1 = framework.Hardmax(%0) {axis = 1 : i64} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  func.return %1 : tensor<1x3x4x4xf32>
}

// -----

// A convolution with a computed weight has no mblt form.
// CHECK-LABEL: func.func @computed_weight
// CHECK-NEXT: framework.Conv(%x, %w)
func.func @computed_weight(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32> {
  %0 = framework.Conv(%x, %w) : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  func.return %0 : tensor<1x1x4x4xf32>
}
