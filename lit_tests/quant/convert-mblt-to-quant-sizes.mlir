// RUN: not qbc-opt %s --pass-pipeline='builtin.module(convert-mblt-to-quant)' 2>&1 | filecheck %s

// Values without elements, and values beyond any memory, are refused at the operation; ordinary ones are not named.
// CHECK: error[UNSUPPORTED_OP]: 2 operations cannot run on the NPU:
// CHECK-NEXT: wide: tile: a value of more than 1099511627776 elements, of shape [1, 300000000000, 4]
// CHECK-NEXT: none: concat: a value without elements, of shape [1, 0, 4]
// CHECK-NOT: fine
func.func @main(%x: tensor<1x3x4xf32>, %e: tensor<1x0x4xf32>) -> (tensor<1x300000000000x4xf32>, tensor<1x3x4xf32>) {
  %0 = mblt.relu %x : tensor<1x3x4xf32> -> tensor<1x3x4xf32> loc("fine")
  %1 = mblt.tile %0 {repeats = [1, 100000000000, 1]} : tensor<1x3x4xf32> -> tensor<1x300000000000x4xf32> loc("wide")
  %2 = mblt.concat %0, %e {axis = 1} : (tensor<1x3x4xf32>, tensor<1x0x4xf32>) -> tensor<1x3x4xf32> loc("none")
  func.return %1, %2 : tensor<1x300000000000x4xf32>, tensor<1x3x4xf32>
}
