// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='canonicalize' | filecheck %s

// CHECK-LABEL: func.func @no_ops
// CHECK-NEXT: mblt.square %x
// CHECK-NEXT: mblt.clip %{{.*}} {min = 0.0, max = 0.5}
// CHECK-NEXT: func.return
func.func @no_ops(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %two = mblt.constant {value = #blob.inline<"00000040" : tensor<1x1xf32>>} : tensor<1x1xf32>
  %0 = mblt.transpose %x {permutation = [1, 0]} : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = mblt.transpose %0 {permutation = [1, 0]} : tensor<3x2xf32> -> tensor<2x3xf32>
  %2 = mblt.pow %1, %two : (tensor<2x3xf32>, tensor<1x1xf32>) -> tensor<2x3xf32>
  %3 = mblt.clip %2 {min = -1.0, max = 0.5} : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = mblt.relu %3 : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = mblt.exp %4 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %4 : tensor<2x3xf32>
}

// -----

// A transpose of a square matrix keeps the type, but not the value.
// CHECK-LABEL: func.func @square_matrix
// CHECK-NEXT: mblt.transpose
func.func @square_matrix(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = mblt.transpose %x {permutation = [1, 0]} : tensor<3x3xf32> -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}

// -----

// A slice of an axis of unknown size keeps the type, but not all elements.
// CHECK-LABEL: func.func @unknown_size
// CHECK-NEXT: mblt.slice %x {starts = [0, 0], ends = [5, 3]
// CHECK-NEXT: func.return %0, %x
func.func @unknown_size(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %0 = mblt.slice %x {starts = [0, 0], ends = [5, 3], steps = [1, 1]} : tensor<?x3xf32> -> tensor<?x3xf32>
  %1 = mblt.slice %x {starts = [0, 0], ends = [9223372036854775807, 3], steps = [1, 1]} : tensor<?x3xf32> -> tensor<?x3xf32>
  func.return %0, %1 : tensor<?x3xf32>, tensor<?x3xf32>
}
