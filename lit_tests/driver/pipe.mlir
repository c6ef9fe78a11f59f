// RUN: qbc-opt %s | qbc-opt --pass-pipeline='cse' | filecheck %s
// RUN: qbc-opt %s -o %t.mlir && qbc-opt %t.mlir | filecheck %s

// CHECK: mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32> loc("act")
func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
  %0 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32> loc("act")
  func.return %0 : tensor<1x4xf32>
}
