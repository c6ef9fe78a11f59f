// RUN: not qbc-opt %s --pass-pipeline='builtin.module(convert-mblt-to-quant)' 2>&1 | filecheck %s

// All operations without an integer form are listed at once, with node, operator and reason.
// CHECK: error[UNSUPPORTED_OP]: 2 operations cannot run on the NPU:
// CHECK-NEXT: total: reduce_sum: arithmetic on integer values has no encoding
// CHECK-NEXT: number: cast: conversion between float and integer values stays on the host
// CHECK-NEXT: at "total"
// CHECK-NEXT: op: %{{[0-9]+}} = mblt.reduce_sum
// CHECK-NOT: Traceback
func.func @main(%x: tensor<2x3xi32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mblt.reduce_sum %x {axes = [1], keep_dims = false} : tensor<2x3xi32> -> tensor<2xi32> loc("total")
  %1 = mblt.cast %0 : tensor<2xi32> -> tensor<2xf32> loc("number")
  %2 = mblt.add %1, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("fine")
  func.return %2 : tensor<2xf32>
}
