// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fold-norm-affine))' | filecheck %s

// CHECK-LABEL: func.func @folds
// CHECK-NEXT: mblt.layer_norm %x {{.*}}scale = #blob.ref<{{.*}} : tensor<2xf32>>{{.*}}bias = #blob.ref<{{.*}} : tensor<2xf32>>
// CHECK-NEXT: func.return
func.func @folds(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %c = mblt.constant {value = #blob.inline<"0000803f00000040" : tensor<1x2xf32>>} : tensor<1x2xf32>
  %0 = mblt.layer_norm %x {normalized_rank = 1, epsilon = 1.0 : f32} : tensor<3x2xf32> -> tensor<3x2xf32>
  %1 = mblt.mul %0, %c : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %2 = mblt.add %1, %c : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

// The normalized value is used elsewhere.
// CHECK-LABEL: func.func @shared
// CHECK: mblt.layer_norm
// CHECK: mblt.mul
func.func @shared(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %c = mblt.constant {value = #blob.inline<"0000803f00000040" : tensor<1x2xf32>>} : tensor<1x2xf32>
  %0 = mblt.layer_norm %x {normalized_rank = 1, epsilon = 1.0 : f32} : tensor<3x2xf32> -> tensor<3x2xf32>
  %1 = mblt.mul %0, %c : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  func.return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}
