// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-gelu))' | filecheck %s

// CHECK-LABEL: func.func @erf
// CHECK-NEXT: mblt.gelu %x {approximate = "none"} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: func.return
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = mblt.constant {value = #blob.inline<"f304b53f" : tensor<1xf32>>} : tensor<1xf32>
  %one = mblt.constant {value = #blob.inline<"0000803f" : tensor<1xf32>>} : tensor<1xf32>
  %half = mblt.constant {value = #blob.inline<"0000003f" : tensor<1xf32>>} : tensor<1xf32>
  %0 = mblt.div %x, %root : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = mblt.erf %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.add %1, %one : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = mblt.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = mblt.mul %3, %half : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

// -----

// One in the place of the square root of two.
// CHECK-LABEL: func.func @other_constant
// CHECK-NOT: mblt.gelu
// CHECK: mblt.erf
func.func @other_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = mblt.constant {value = #blob.inline<"0000803f" : tensor<1xf32>>} : tensor<1xf32>
  %half = mblt.constant {value = #blob.inline<"0000003f" : tensor<1xf32>>} : tensor<1xf32>
  %0 = mblt.div %x, %one : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = mblt.erf %0 : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.add %1, %one : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = mblt.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = mblt.mul %3, %half : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}
