// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(quant-fold-affine)' | filecheck %s

// Scalars move into the lookup before them; their rows go.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = quant.quantize
// CHECK-NEXT:    %1 = quant.lut %0 {function = "hard_swish", gain = 0.5{{.*}}, offset = 2.0{{.*}}} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r3">> loc(fused["act", "scale", "shift"])
// CHECK-NEXT:    quant.dequantize %1
quant.params "r0"
quant.params "r1"
quant.params "r2"
quant.params "r3"
quant.params "r4"
quant.params "r5"
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c = quant.constant {value = #blob.inline<"0000003f" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r4">>
  %d = quant.constant {value = #blob.inline<"00000040" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r5">>
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
  %1 = quant.lut %0 {function = "hard_swish"} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">> loc("act")
  %2 = quant.mul %1, %c : (tensor<1x4x!quant.q<"r1">>, tensor<1x1x!quant.q<"r4">>) -> tensor<1x4x!quant.q<"r2">> loc("scale")
  %3 = quant.add %d, %2 : (tensor<1x1x!quant.q<"r5">>, tensor<1x4x!quant.q<"r2">>) -> tensor<1x4x!quant.q<"r3">> loc("shift")
  %4 = quant.dequantize %3 : tensor<1x4x!quant.q<"r3">> -> tensor<1x4xf32>
  func.return %4 : tensor<1x4xf32>
}

// -----

// A second reader, a constant with different entries, and a fused activation each keep the operation.
// CHECK-LABEL: func.func @main
// CHECK:         quant.lut %{{.*}} {function = "silu"}
// CHECK-NEXT:    quant.mul
// CHECK-NEXT:    quant.lut %{{.*}} {function = "tanh"}
// CHECK-NEXT:    quant.mul
// CHECK-NEXT:    quant.lut %{{.*}} {function = "gelu"
// CHECK-NEXT:    quant.add %{{.*}} {activation = "relu"}
quant.params "r0"
quant.params "r1"
quant.params "r2"
quant.params "r3"
quant.params "r4"
quant.params "r5"
quant.params "r6"
quant.params "r7"
quant.params "r8"
func.func @main(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %c = quant.constant {value = #blob.inline<"0000003f" : tensor<1x1xf32>>} : tensor<1x1x!quant.q<"r7">>
  %d = quant.constant {value = #blob.inline<"0000003f00000040" : tensor<1x2xf32>>} : tensor<1x2x!quant.q<"r8">>
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"r0">>
  %1 = quant.lut %0 {function = "silu"} : tensor<1x2x!quant.q<"r0">> -> tensor<1x2x!quant.q<"r1">>
  %2 = quant.mul %1, %c : (tensor<1x2x!quant.q<"r1">>, tensor<1x1x!quant.q<"r7">>) -> tensor<1x2x!quant.q<"r2">>
  %3 = quant.lut %2 {function = "tanh"} : tensor<1x2x!quant.q<"r2">> -> tensor<1x2x!quant.q<"r3">>
  %4 = quant.mul %3, %d : (tensor<1x2x!quant.q<"r3">>, tensor<1x2x!quant.q<"r8">>) -> tensor<1x2x!quant.q<"r4">>
  %5 = quant.lut %4 {function = "gelu", approximate = "none"} : tensor<1x2x!quant.q<"r4">> -> tensor<1x2x!quant.q<"r5">>
  %6 = quant.add %5, %c {activation = "relu"} : (tensor<1x2x!quant.q<"r5">>, tensor<1x1x!quant.q<"r7">>) -> tensor<1x2x!quant.q<"r6">>
  %7 = quant.dequantize %6 : tensor<1x2x!quant.q<"r6">> -> tensor<1x2xf32>
  %8 = quant.dequantize %1 : tensor<1x2x!quant.q<"r1">> -> tensor<1x2xf32>
  func.return %7, %8 : tensor<1x2xf32>, tensor<1x2xf32>
}
