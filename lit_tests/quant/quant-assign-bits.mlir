// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits)' | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16=fc})' | filecheck %s --check-prefix=WIDE
// RUN: qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16="f*"})' | filecheck %s --check-prefix=WIDE
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-assign-bits{activation16=fd})' 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK: quant.params "a" {storage = i8}
// CHECK-NEXT: quant.params "b" {storage = i8}
// CHECK-NEXT: quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}
// WIDE: quant.params "a" {storage = i8}
// WIDE-NEXT: quant.params "b" {storage = i16}
// WIDE-NEXT: quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}
// WRONG: error[ARGUMENT_ERROR]: activation16: 'fd' is the name of no layer
// WRONG: Nearest names: fc
quant.params "a"
quant.params "b"
quant.params "c" {storage = i8, scale = 0.5 : f32, zero_point = 0, fixed}
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"a">>
  %1 = quant.linear %0 {weight = #blob.ref<"w" : tensor<4x4xf32>>} : tensor<1x4x!quant.q<"a">> -> tensor<1x4x!quant.q<"b">> loc("fc")
  %2 = quant.lut %1 {function = "tanh"} : tensor<1x4x!quant.q<"b">> -> tensor<1x4x!quant.q<"c">>
  %y = quant.dequantize %2 : tensor<1x4x!quant.q<"c">> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
