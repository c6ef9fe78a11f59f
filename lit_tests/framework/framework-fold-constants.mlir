// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(framework-fold-constants,framework-eliminate-dead))' | filecheck %s
// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(framework-fold-constants{max_bytes=8},framework-eliminate-dead))' | filecheck %s --check-prefix=SMALL

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = framework.Constant dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
// CHECK-NEXT: func.return %0
func.func @main() -> tensor<3x2xi32> {
  %c = framework.Constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = framework.Transpose(%c) {perm = [1, 0]} : (tensor<2x3xi32>) -> tensor<3x2xi32>
  func.return %0 : tensor<3x2xi32>
}

// A result that is larger than its operands folds only within the limit.
// CHECK-LABEL: func.func @grows
// CHECK: framework.Constant dense<1> : tensor<4xi32>
// SMALL-LABEL: func.func @grows
// SMALL: framework.Expand
func.func @grows() -> tensor<4xi32> {
  %c = framework.Constant dense<[1]> : tensor<1xi32>
  %s = framework.Constant dense<4> : tensor<1xi64>
  %0 = framework.Expand(%c, %s) : (tensor<1xi32>, tensor<1xi64>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// An operand that is no constant stops it.
// CHECK-LABEL: func.func @argument
// CHECK: framework.Add(%x, %c)
func.func @argument(%x: tensor<1xi32>) -> tensor<1xi32> {
  %c = framework.Constant dense<[1]> : tensor<1xi32>
  %0 = framework.Add(%x, %c) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  func.return %0 : tensor<1xi32>
}
