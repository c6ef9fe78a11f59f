// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-verify{level=created})' | filecheck %s
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-verify{level=ranged})' 2>&1 | filecheck %s --check-prefix=RANGED
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-verify)' 2>&1 | filecheck %s --check-prefix=MATERIALIZED

// CHECK: quant.params "a"
// RANGED: error[VERIFY_ERROR]: row 'b' has no encoding
// RANGED-NEXT: at "fc"
// RANGED-NEXT: op: %{{[0-9]+}} = quant.linear
// RANGED-NEXT: level ranged
// RANGED-NEXT: while running pass quant-verify
// MATERIALIZED: error[VERIFY_ERROR]: row 'a' is left
// MATERIALIZED-NEXT: at {{.*}}quant-verify.mlir:{{[0-9]+}}:1
// MATERIALIZED-NEXT: op: quant.params "a"
// MATERIALIZED: error[VERIFY_ERROR]: 'quant.linear' op has the float property weight
// MATERIALIZED-NEXT: at "fc"
quant.params "a" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "b" {storage = i8}
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"a">> loc("x")
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f00000000000000000000803f" : tensor<2x2xf32>>} : tensor<1x2x!quant.q<"a">> -> tensor<1x2x!quant.q<"b">> loc("fc")
  %y = quant.dequantize %1 : tensor<1x2x!quant.q<"b">> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
