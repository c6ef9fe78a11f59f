// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-pad))' | filecheck %s

// CHECK-LABEL: func.func @fuses
// CHECK-NEXT: mblt.avg_pool2d %x {{.*}}padding = [1, 1, 1, 1]{{.*}}count_include_pad = true
// CHECK-NEXT: func.return
func.func @fuses(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32> {
  %0 = mblt.pad %x {before = [0, 1, 1, 0], after = [0, 1, 1, 0], mode = "constant", value = 0.0 : f32} : tensor<1x2x2x1xf32> -> tensor<1x4x4x1xf32>
  %1 = mblt.avg_pool2d %0 {kernel = [3, 3], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false, count_include_pad = false} : tensor<1x4x4x1xf32> -> tensor<1x2x2x1xf32>
  func.return %1 : tensor<1x2x2x1xf32>
}

// -----

// A border of ones is no zero padding.
// CHECK-LABEL: func.func @ones
// CHECK-NEXT: mblt.pad
// CHECK-NEXT: mblt.avg_pool2d
func.func @ones(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32> {
  %0 = mblt.pad %x {before = [0, 1, 1, 0], after = [0, 1, 1, 0], mode = "constant", value = 1.0 : f32} : tensor<1x2x2x1xf32> -> tensor<1x4x4x1xf32>
  %1 = mblt.avg_pool2d %0 {kernel = [3, 3], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false, count_include_pad = false} : tensor<1x4x4x1xf32> -> tensor<1x2x2x1xf32>
  func.return %1 : tensor<1x2x2x1xf32>
}
