// RUN: qbc-opt %s | filecheck %s
// RUN: qbc-opt %s --no-locations | filecheck %s --check-prefix=BARE
// RUN: qbc-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: qbc-opt %s | qbc-opt | filecheck %s

// Source names are printed, file positions are not.
// CHECK: func.return %x : tensor<2xf32> loc("head/out")
// CHECK-NOT: locations.mlir
// BARE: func.return %x : tensor<2xf32>{{$}}
// GENERIC: "func.return"(%x) : (tensor<2xf32>) -> () loc("head/out")
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32> loc("head/out")
}
