// Rows whose last value a pass removes go with it, whichever pass it is; rows that others still name stay.
// RUN: qbc-opt %s --pass-pipeline='builtin.module(canonicalize)' | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='builtin.module(canonicalize)' | qbc-opt - --pass-pipeline='builtin.module(quant-verify{level=created})' | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='builtin.module(symbol-dce)' | filecheck %s --check-prefix=SYMBOL
// RUN: qbc-opt %s --pass-pipeline='builtin.module(canonicalize)' --print-ir-after-all 2>&1 | filecheck %s --check-prefix=DUMP

// CHECK-NOT: quant.params "dead"
// CHECK: quant.params "in"
// CHECK-NEXT: quant.params "out"
// CHECK-NEXT: quant.params "helper"
// CHECK-NEXT: func.func @main
// CHECK-NOT: tanh
// SYMBOL: quant.params "dead"
// SYMBOL-NOT: quant.params "helper"
// SYMBOL: func.func @main
// DUMP: IR Dump After canonicalize
// DUMP-NOT: quant.params "dead"
// DUMP: func.func @main
quant.params "dead"
quant.params "in"
quant.params "out"
quant.params "helper"
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"in">>
  %1 = quant.lut %0 {function = "tanh"} : tensor<1x2x!quant.q<"in">> -> tensor<1x2x!quant.q<"dead">>
  %2 = quant.lut %0 {function = "sigmoid"} : tensor<1x2x!quant.q<"in">> -> tensor<1x2x!quant.q<"out">>
  %y = quant.dequantize %2 : tensor<1x2x!quant.q<"out">> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
func.func private @helper(%x: tensor<1x2x!quant.q<"helper">>) -> tensor<1x2x!quant.q<"helper">> {
  func.return %x : tensor<1x2x!quant.q<"helper">>
}
