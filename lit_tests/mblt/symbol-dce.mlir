// RUN: qbc-opt %s --no-locations --pass-pipeline='symbol-dce' | filecheck %s

// CHECK: func.func @main
// CHECK-NOT: @unused
// CHECK: func.func private @used
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @used(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func private @used(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
