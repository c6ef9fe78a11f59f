// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits)' | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16=fc})' | filecheck %s --check-prefix=WIDE
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16="f*"})' | filecheck %s --check-prefix=WIDE
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16=x})' | filecheck %s --check-prefix=INPUT
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16=y})' | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16="act + fc"})' | filecheck %s --check-prefix=WIDE
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16="act + fd"})' 2>&1 | filecheck %s --check-prefix=PARTS
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16=fd})' 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK: quant.params "a" {storage = i8}
// CHECK-NEXT: quant.params "b" {storage = i8}
// CHECK-NEXT: quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}
// WIDE: quant.params "a" {storage = i8}
// WIDE-NEXT: quant.params "b" {storage = i16}
// WIDE-NEXT: quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}
// The input is of row a, the output of row c, which is fixed.
// INPUT: quant.params "a" {storage = i16}
// INPUT-NEXT: quant.params "b" {storage = i8}
// A fused name stands for its parts, all of which must be there.
// PARTS: error[ARGUMENT_ERROR]: activation16: 'act + fd' is the name of no layer
// WRONG: error[ARGUMENT_ERROR]: activation16: 'fd' is the name of no layer
// WRONG: Nearest names: fc
quant.params "a"
quant.params "b"
quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}
func.func @main(%x: tensor<1x4xf32> {quant.name = "x"}) -> (tensor<1x4xf32> {quant.name = "y"}) {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.linear %0 {weight = #blob.ref<"w" : tensor<4x4xf32>>} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"b">> loc("fc")
  %2 = quant.lut %1 {function = "tanh"} : tensor<1x4x!quant.q<"b">> -> tensor<1x4x!quant.q<"c">> loc("act")
  %y = quant.dequantize %2 : tensor<1x4x!quant.q<"c">> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
