// RUN: not qbc-opt %s --pass-pipeline='builtin.module(convert-mblt-to-quant)' 2>&1 | filecheck %s

// All operations without an integer form are listed at once, with node, operator and reason.
// CHECK: error[UNSUPPORTED_OP]: 2 operations cannot run on the NPU:
// CHECK-NEXT: compare: greater: there is no integer form of this operation
// CHECK-NEXT: mask: cast: conversion between float and integer values stays on the host
// CHECK-NOT: Traceback
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = mblt.greater %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1> loc("compare")
  %1 = mblt.cast %0 : tensor<2x3xi1> -> tensor<2x3xf32> loc("mask")
  func.return %1 : tensor<2x3xf32>
}
