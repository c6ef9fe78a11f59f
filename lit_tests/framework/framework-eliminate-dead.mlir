// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(framework-eliminate-dead))' | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = framework.Relu(%x)
// CHECK-NEXT: func.return %0
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = framework.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = framework.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = framework.Sin(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Nothing is dead here: the body uses the outer value.
// CHECK-LABEL: func.func @captured
// CHECK-NEXT: %0 = framework.Exp(%x)
// CHECK-NEXT: %1 = framework.If(%c) ({
// CHECK-NEXT:   framework.yield %0
// CHECK-NEXT: }, {
// CHECK-NEXT:   framework.yield %x
func.func @captured(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = framework.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = framework.If(%c) ({
    framework.yield %0 : tensor<4xf32>
  }, {
    framework.yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
