// RUN: qbc-opt %s --pass-pipeline='func.func(mblt-sink-transposes)' --no-locations --split-input-file | filecheck %s

// Transposes cancel inside; at arguments and results they become the layout.
// CHECK-LABEL: func.func @cnn(%x: tensor<1x8x8x3xf32> {mblt.name = "x", mblt.source_layout = "nchw"}) -> (tensor<1x4x4x3xf32> {mblt.name = "y", mblt.source_layout = "nchw"})
// CHECK-NEXT: %[[P:.*]] = mblt.max_pool2d %x
// CHECK-NEXT: %[[R:.*]] = mblt.relu %[[P]] : tensor<1x4x4x3xf32> -> tensor<1x4x4x3xf32>
// CHECK-NEXT: %[[Q:.*]] = mblt.max_pool2d %[[R]]
// CHECK-NEXT: func.return %[[Q]] : tensor<1x4x4x3xf32>
func.func @cnn(%x: tensor<1x3x8x8xf32> {mblt.name = "x"}) -> (tensor<1x3x4x4xf32> {mblt.name = "y"}) {
  %0 = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
  %1 = mblt.max_pool2d %0 {kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x8x8x3xf32> -> tensor<1x4x4x3xf32>
  %2 = mblt.transpose %1 {permutation = [0, 3, 1, 2]} : tensor<1x4x4x3xf32> -> tensor<1x3x4x4xf32>
  %3 = mblt.relu %2 : tensor<1x3x4x4xf32> -> tensor<1x3x4x4xf32>
  %4 = mblt.transpose %3 {permutation = [0, 2, 3, 1]} : tensor<1x3x4x4xf32> -> tensor<1x4x4x3xf32>
  %5 = mblt.max_pool2d %4 {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x4x4x3xf32> -> tensor<1x4x4x3xf32>
  %6 = mblt.transpose %5 {permutation = [0, 3, 1, 2]} : tensor<1x4x4x3xf32> -> tensor<1x3x4x4xf32>
  func.return %6 : tensor<1x3x4x4xf32>
}

// -----

// An argument that a pooling reads channel-last is an image: another use transposes it back.
// CHECK-LABEL: func.func @two_uses(%x: tensor<1x8x8x3xf32> {mblt.source_layout = "nchw"})
// CHECK-NEXT: %[[T:.*]] = mblt.transpose %x {permutation = [0, 3, 1, 2]}
// CHECK-NEXT: mblt.max_pool2d %x
// CHECK-NEXT: mblt.matmul %[[T]], %[[T]]
func.func @two_uses(%x: tensor<1x3x8x8xf32>) -> (tensor<1x8x8x3xf32>, tensor<1x3x8x8xf32>) {
  %0 = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
  %1 = mblt.max_pool2d %0 {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x8x8x3xf32> -> tensor<1x8x8x3xf32>
  %2 = mblt.matmul %x, %x {transpose_b = false} : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return %1, %2 : tensor<1x8x8x3xf32>, tensor<1x3x8x8xf32>
}

// -----

// An argument that is returned too has one layout on both sides.
// CHECK-LABEL: func.func @returned(%x: tensor<1x8x8x3xf32> {mblt.source_layout = "nchw"}) -> (tensor<1x8x8x3xf32> {mblt.source_layout = "nchw"}, tensor<1x8x8x3xf32> {mblt.source_layout = "nchw"})
// CHECK-NEXT: %[[P:.*]] = mblt.max_pool2d %x
// CHECK-NEXT: func.return %[[P]], %x
func.func @returned(%x: tensor<1x3x8x8xf32>) -> (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) {
  %0 = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
  %1 = mblt.max_pool2d %0 {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x8x8x3xf32> -> tensor<1x8x8x3xf32>
  %2 = mblt.transpose %1 {permutation = [0, 3, 1, 2]} : tensor<1x8x8x3xf32> -> tensor<1x3x8x8xf32>
  func.return %2, %x : tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>
}

// -----

// A transposed argument that leads only to a matmul is no image where another use reads it as it is.
// CHECK-LABEL: func.func @no_image(%x: tensor<1x3x8x5xf32>)
// CHECK: mblt.transpose %x {permutation = [0, 2, 3, 1]}
func.func @no_image(%x: tensor<1x3x8x5xf32>) -> (tensor<1x8x5x5xf32>, tensor<1x3x8x5xf32>) {
  %0 = mblt.transpose %x {permutation = [0, 2, 3, 1]} : tensor<1x3x8x5xf32> -> tensor<1x8x5x3xf32>
  %1 = mblt.matmul %0, %0 {transpose_b = true} : (tensor<1x8x5x3xf32>, tensor<1x8x5x3xf32>) -> tensor<1x8x5x5xf32>
  func.return %1, %x : tensor<1x8x5x5xf32>, tensor<1x3x8x5xf32>
}

// -----

// Axes of concat, slice, reduce follow; a reduction that drops axes keeps the rest in order.
// CHECK-LABEL: func.func @axes
// CHECK-NEXT: %[[P:.*]] = mblt.max_pool2d %x
// CHECK-NEXT: %[[C:.*]] = mblt.concat %[[P]], %[[P]] {axis = 3}
// CHECK-NEXT: %[[S:.*]] = mblt.slice %[[C]] {starts = [0, 1, 0, 2], ends = [1, 4, 5, 6], steps = [1, 1, 1, 1]}
// CHECK-NEXT: %[[R:.*]] = mblt.reduce_mean %[[S]] {axes = [1, 2], keep_dims = false} : tensor<1x3x5x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT: func.return %[[R]]
func.func @axes(%x: tensor<1x4x5x3xf32>) -> tensor<1x4xf32> {
  %0 = mblt.max_pool2d %x {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<1x4x5x3xf32> -> tensor<1x4x5x3xf32>
  %1 = mblt.transpose %0 {permutation = [0, 3, 1, 2]} : tensor<1x4x5x3xf32> -> tensor<1x3x4x5xf32>
  %2 = mblt.concat %1, %1 {axis = 1} : (tensor<1x3x4x5xf32>, tensor<1x3x4x5xf32>) -> tensor<1x6x4x5xf32>
  %3 = mblt.slice %2 {starts = [0, 2, 1, 0], ends = [1, 6, 4, 5], steps = [1, 1, 1, 1]} : tensor<1x6x4x5xf32> -> tensor<1x4x3x5xf32>
  %4 = mblt.reduce_mean %3 {axes = [2, 3], keep_dims = false} : tensor<1x4x3x5xf32> -> tensor<1x4xf32>
  func.return %4 : tensor<1x4xf32>
}

// -----

// The transposed key of an attention goes into the matmul.
// CHECK-LABEL: func.func @key
// CHECK-NEXT: mblt.matmul %q, %k {transpose_b = true} : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
func.func @key(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>) -> tensor<2x4x5xf32> {
  %0 = mblt.transpose %k {permutation = [0, 2, 1]} : tensor<2x5x8xf32> -> tensor<2x8x5xf32>
  %1 = mblt.matmul %q, %0 {transpose_b = false} : (tensor<2x4x8xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  func.return %1 : tensor<2x4x5xf32>
}

// -----

// A reshape that merges axes which are not side by side keeps the transpose before it.
// CHECK-LABEL: func.func @flatten
// CHECK: mblt.transpose %0 {permutation = [0, 3, 1, 2]}
// CHECK-NEXT: mblt.reshape
func.func @flatten(%x: tensor<2x4x5x3xf32>) -> tensor<2x60xf32> {
  %0 = mblt.max_pool2d %x {kernel = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false} : tensor<2x4x5x3xf32> -> tensor<2x4x5x3xf32>
  %1 = mblt.transpose %0 {permutation = [0, 3, 1, 2]} : tensor<2x4x5x3xf32> -> tensor<2x3x4x5xf32>
  %2 = mblt.reshape %1 : tensor<2x3x4x5xf32> -> tensor<2x60xf32>
  func.return %2 : tensor<2x60xf32>
}
