// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(framework-fold-shapes,framework-eliminate-dead))' | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: -> tensor<1x40x120xf32>
// CHECK-NEXT: [[SHAPE:%[0-9]+]] = framework.Constant dense<[1, 40, 120]> : tensor<3xi64>
// CHECK-NEXT: [[Y:%[0-9]+]] = framework.Reshape(%x, [[SHAPE]]) : (tensor<1x40x8x15xf32>, tensor<3xi64>) -> tensor<1x40x120xf32>
// CHECK-NEXT: func.return [[Y]]
func.func @main(%x: tensor<1x40x8x15xf32>) -> tensor<?x?x?xf32> {
  %zero = framework.Constant dense<[0]> : tensor<1xi64>
  %two = framework.Constant dense<[2]> : tensor<1xi64>
  %rest = framework.Constant dense<[120]> : tensor<1xi64>
  %0 = framework.Shape(%x) : (tensor<1x40x8x15xf32>) -> tensor<4xi64>
  %1 = framework.Slice(%0, %zero, %two) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %2 = framework.Concat(%1, %rest) {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
  %3 = framework.Reshape(%x, %2) : (tensor<1x40x8x15xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  func.return %3 : tensor<?x?x?xf32>
}

// The first dimension is not known, so its use stays.
// CHECK-LABEL: func.func @unknown
// CHECK: framework.Shape(%x)
// CHECK: framework.Gather
func.func @unknown(%x: tensor<?x40xf32>) -> tensor<1xi64> {
  %zero = framework.Constant dense<[0]> : tensor<1xi64>
  %0 = framework.Shape(%x) : (tensor<?x40xf32>) -> tensor<2xi64>
  %1 = framework.Gather(%0, %zero) {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  func.return %1 : tensor<1xi64>
}

// What the source model states about an output is taken where nothing is found; a name is no size.
// CHECK-LABEL: func.func @stated
// CHECK: framework.NonZero(%x) : (tensor<2x4xf32>) -> tensor<2x3xi64>
// CHECK: framework.Relu(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
func.func @stated(%x: tensor<2x4xf32>, %y: tensor<?x4xf32>)
    -> (tensor<2x?xi64> {framework.dims = ["2", "3"]}, tensor<?x4xf32> {framework.dims = ["N", "4"]}) {
  %0 = framework.NonZero(%x) : (tensor<2x4xf32>) -> tensor<2x?xi64>
  %1 = framework.Relu(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0, %1 : tensor<2x?xi64>, tensor<?x4xf32>
}
