// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-letterbox{height=4 width=4 source-height=4 source-width=8}))' | filecheck %s --check-prefix=EVEN
// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-letterbox{height=4 width=4 source-height=12 source-width=9 centered=false}))' | filecheck %s --check-prefix=ODD
// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-letterbox{height=4 width=4 source-height=4 source-width=4}))' | filecheck %s --check-prefix=SAME

// An even factor takes the mean of two pixels an axis, an odd one the middle pixel; the value of the border is that of
// the bytes. A picture that fits needs nothing.
// EVEN-LABEL: func.func @bytes
// EVEN-SAME: %x: tensor<1x4x8x3xf32> {mblt.name = "x", mblt.division_factor = 2.000000e+00 : f64, mblt.letterboxed}
// EVEN-NEXT: %[[SMALL:.*]] = mblt.resize %x {mode = "linear", coordinate_mode = "half_pixel"{{.*}}scales = [0.5, 0.5]} : tensor<1x4x8x3xf32> -> tensor<1x2x4x3xf32>
// EVEN-NEXT: %[[WHOLE:.*]] = mblt.pad %[[SMALL]] {mode = "constant", value = 5.700000e+01 : f32, before = [0, 1, 0, 0], after = [0, 1, 0, 0]} : tensor<1x2x4x3xf32> -> tensor<1x4x4x3xf32>
// EVEN-NEXT: mblt.mul %[[WHOLE]], %[[WHOLE]]
// ODD-LABEL: func.func @bytes
// ODD-SAME: %x: tensor<1x12x9x3xf32>
// ODD-NEXT: mblt.resize %x {mode = "nearest"
// ODD-NEXT: mblt.pad {{.*}} before = [0, 0, 0, 0], after = [0, 0, 1, 0]} : tensor<1x4x3x3xf32> -> tensor<1x4x4x3xf32>
// SAME-LABEL: func.func @bytes
// SAME-SAME: %x: tensor<1x4x4x3xf32>
// SAME-NEXT: mblt.mul %x, %x
func.func @bytes(%x: tensor<1x4x4x3xf32> {mblt.name = "x", mblt.division_factor = 2.0 : f64}) -> tensor<1x4x4x3xf32> {
  %0 = mblt.mul %x, %x : (tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  func.return %0 : tensor<1x4x4x3xf32>
}

// -----

// Vectors are no images.
// EVEN-LABEL: func.func @two
// EVEN-SAME: %x: tensor<1x5xf32> {mblt.name = "x"}
// EVEN-SAME: %y: tensor<1x4x8x1xf32> {mblt.name = "y", mblt.letterboxed}
// EVEN-NEXT: mblt.resize %y
func.func @two(%x: tensor<1x5xf32> {mblt.name = "x"}, %y: tensor<1x4x4x1xf32> {mblt.name = "y"}) -> (tensor<1x5xf32>, tensor<1x4x4x1xf32>) {
  %0 = mblt.sigmoid %x : tensor<1x5xf32> -> tensor<1x5xf32>
  %1 = mblt.sigmoid %y : tensor<1x4x4x1xf32> -> tensor<1x4x4x1xf32>
  func.return %0, %1 : tensor<1x5xf32>, tensor<1x4x4x1xf32>
}
