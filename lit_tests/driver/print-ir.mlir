// RUN: qbc-opt %s --pass-pipeline='canonicalize,cse' --print-ir-after=cse 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: qbc-opt %s --pass-pipeline='canonicalize,cse' --print-ir-before-all 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: qbc-opt %s --pass-pipeline='cse,cse' --mlir-print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE

// AFTER-NOT: IR Dump After canonicalize
// AFTER: IR Dump After cse
// BEFORE: IR Dump Before canonicalize
// BEFORE: IR Dump Before cse
// CHANGE: IR Dump After cse
// CHANGE: IR after cse: no change
func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
  %0 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %1 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %2 = mblt.add %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %2 : tensor<1x4xf32>
}
