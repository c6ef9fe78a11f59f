// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fold-constants))' | filecheck %s

// The normalization of the input goes into the layer.
// CHECK-LABEL: func.func @folds
// CHECK-NEXT: mblt.linear %x {{.*}}bias = #blob.ref
// CHECK-NEXT: func.return
func.func @folds(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
  %c = mblt.constant {value = #blob.inline<"00000040" : tensor<1x1xf32>>} : tensor<1x1xf32>
  %0 = mblt.sub %x, %c : (tensor<3x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>
  %1 = mblt.div %0, %c : (tensor<3x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>
  %2 = mblt.linear %1 {weight = #blob.inline<"0000803f00000040" : tensor<2x1xf32>>} : tensor<3x1xf32> -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

// Zero padding would not see the constant.
// CHECK-LABEL: func.func @padded
// CHECK: mblt.add
// CHECK-NEXT: mblt.conv2d
func.func @padded(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32> {
  %c = mblt.constant {value = #blob.inline<"00000040" : tensor<1x1x1x1xf32>>} : tensor<1x1x1x1xf32>
  %0 = mblt.add %x, %c : (tensor<1x2x2x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x2x1xf32>
  %1 = mblt.conv2d %0 {weight = #blob.inline<"0000803f0000803f0000803f0000803f" : tensor<1x2x2x1xf32>>, kernel = [2, 2], strides = [1, 1], padding = [1, 1, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
  func.return %1 : tensor<1x2x2x1xf32>
}
