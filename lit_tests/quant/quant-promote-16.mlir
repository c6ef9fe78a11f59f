// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-promote-16{sqnr=10.0})' | filecheck %s
// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-promote-16{logit-step=1000.0 sqnr=10.0})' | filecheck %s --check-prefix=COARSE

// Logits of a softmax whose step is above 0.1: the sum and what it adds up get 16 bits; the input of the lookup stays.
// CHECK:      quant.params "r0" {{.*}}storage = i16
// CHECK-NEXT: quant.params "r1" {{.*}}storage = i16
// CHECK-NEXT: quant.params "r2" {{.*}}storage = i8
// CHECK-NEXT: quant.params "r3" {{.*}}storage = i8
// COARSE:      quant.params "r0" {{.*}}storage = i8
// COARSE-NEXT: quant.params "r1" {{.*}}storage = i8
quant.params "r0"
quant.params "r1"
quant.params "r2"
quant.params "r3"
func.func @main(%x: tensor<1x64xf32> {mblt.name = "x"}) -> (tensor<1x64xf32> {mblt.name = "y"}) {
  %0 = quant.quantize %x : tensor<1x64xf32> -> tensor<1x64x!quant.q<"r0">>
  %1 = quant.add %0, %0 : (tensor<1x64x!quant.q<"r0">>, tensor<1x64x!quant.q<"r0">>) -> tensor<1x64x!quant.q<"r1">>
  %2 = quant.softmax %1 {axis = 1, beta = 10.0 : f32} : tensor<1x64x!quant.q<"r1">> -> tensor<1x64x!quant.q<"r2">>
  %3 = quant.lut %2 {function = "tanh"} : tensor<1x64x!quant.q<"r2">> -> tensor<1x64x!quant.q<"r3">>
  %4 = quant.dequantize %3 : tensor<1x64x!quant.q<"r3">> -> tensor<1x64xf32>
  func.return %4 : tensor<1x64xf32>
}
