// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fold-batch-norm))' | filecheck %s

// The batch norm becomes part of the convolution before it.
// CHECK-LABEL: func.func @folds
// CHECK-NEXT: mblt.conv2d %x {{.*}}weight = #blob.ref<"{{[0-9a-f]+}}" : tensor<1x1x1x1xf32>>{{.*}}bias = #blob.ref<"{{[0-9a-f]+}}" : tensor<1xf32>>
// CHECK-NEXT: func.return
func.func @folds(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32> {
  %0 = mblt.conv2d %x {weight = #blob.inline<"0000803f" : tensor<1x1x1x1xf32>>, kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
  %1 = mblt.batch_norm %0 {scale = #blob.inline<"00000040" : tensor<1xf32>>, bias = #blob.inline<"0000803f" : tensor<1xf32>>, mean = #blob.inline<"0000003f" : tensor<1xf32>>, variance = #blob.inline<"0000803f" : tensor<1xf32>>, epsilon = 0.0 : f32} : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
  func.return %1 : tensor<1x2x2x1xf32>
}

// -----

// The value before the batch norm is used elsewhere: a product and a sum are left.
// CHECK-LABEL: func.func @shared
// CHECK: mblt.conv2d
// CHECK-NOT: mblt.batch_norm
// CHECK: mblt.mul
// CHECK-NEXT: mblt.add
func.func @shared(%x: tensor<1x2x2x1xf32>) -> (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) {
  %0 = mblt.conv2d %x {weight = #blob.inline<"0000803f" : tensor<1x1x1x1xf32>>, kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
  %1 = mblt.batch_norm %0 {scale = #blob.inline<"00000040" : tensor<1xf32>>, bias = #blob.inline<"0000803f" : tensor<1xf32>>, mean = #blob.inline<"0000003f" : tensor<1xf32>>, variance = #blob.inline<"0000803f" : tensor<1xf32>>, epsilon = 0.0 : f32} : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
  func.return %0, %1 : tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>
}
