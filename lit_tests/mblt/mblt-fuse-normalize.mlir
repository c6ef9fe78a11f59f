// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-normalize{mean=0.5 std=0.25 scale=1.0}))' | filecheck %s

// The border that was 0 is 0.5 before the normalisation, so the padding becomes an op with values.
// CHECK-LABEL: func.func @folds
// CHECK-SAME: mblt.normalized
// CHECK-NEXT: %[[PADDED:.*]] = mblt.pad %x {mode = "constant", value = 0.000000e+00 : f32, before = [0, 1, 0, 0], after = [0, 0, 0, 0], values = #blob.ref
// CHECK-NEXT: mblt.conv2d %[[PADDED]] {strides = [1, 1], padding = [0, 0, 0, 0]{{.*}}bias = #blob.ref
// CHECK-NEXT: func.return
func.func @folds(%x: tensor<1x2x2x1xf32> {mblt.name = "x"}) -> tensor<1x3x2x1xf32> {
  %0 = mblt.conv2d %x {weight = #blob.inline<"0000803f" : tensor<1x1x1x1xf32>>, kernel = [1, 1], strides = [1, 1], padding = [1, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x2x2x1xf32> -> tensor<1x3x2x1xf32>
  func.return %0 : tensor<1x3x2x1xf32>
}

// -----

// A sigmoid has no weights to take the numbers.
// CHECK-LABEL: func.func @stays
// CHECK: mblt.mul %x
// CHECK-NEXT: mblt.add
// CHECK-NEXT: mblt.sigmoid
func.func @stays(%x: tensor<1x2x2x1xf32> {mblt.name = "x"}) -> tensor<1x2x2x1xf32> {
  %0 = mblt.sigmoid %x : tensor<1x2x2x1xf32> -> tensor<1x2x2x1xf32>
  func.return %0 : tensor<1x2x2x1xf32>
}
