// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(framework-simplify,framework-eliminate-dead))' | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = framework.Relu(%x) : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
// CHECK-NEXT: func.return %0
func.func @main(%x: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
  %0 = framework.Identity(%x) : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  %1 = framework.Transpose(%0) {perm = [0, 2, 1]} : (tensor<1x8x4xf32>) -> tensor<1x4x8xf32>
  %2 = framework.Transpose(%1) {perm = [0, 2, 1]} : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
  %3 = framework.Relu(%2) : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  func.return %3 : tensor<1x8x4xf32>
}

// CHECK-LABEL: func.func @constant_condition
// CHECK-NEXT: %0 = framework.Relu(%x)
// CHECK-NEXT: func.return %0
func.func @constant_condition(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = framework.Constant #blob.inline<"01" : tensor<i1>>
  %0 = framework.If(%c) ({
    framework.yield %x : tensor<4xf32>
  }, {
    %1 = framework.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    framework.yield %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// A cast that changes the type, a reversed slice and an If whose condition is an argument stay.
// CHECK-LABEL: func.func @stays
// CHECK: framework.Cast
// CHECK-NEXT: framework.Slice
// CHECK-NEXT: framework.If
func.func @stays(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf64> {
  %a = framework.Constant dense<[-1]> : tensor<1xi64>
  %b = framework.Constant dense<[-5]> : tensor<1xi64>
  %axes = framework.Constant dense<[0]> : tensor<1xi64>
  %0 = framework.Cast(%x) {to = 11 : i64} : (tensor<4xf32>) -> tensor<4xf64>
  %1 = framework.Slice(%0, %a, %b, %axes, %a) : (tensor<4xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf64>
  %2 = framework.If(%c) ({
    framework.yield %1 : tensor<4xf64>
  }, {
    framework.yield %0 : tensor<4xf64>
  }) : (tensor<i1>) -> tensor<4xf64>
  func.return %2 : tensor<4xf64>
}
