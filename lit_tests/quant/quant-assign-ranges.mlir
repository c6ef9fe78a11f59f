// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges{mode=0})' | filecheck %s
// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges{mode=0 method=1})' | filecheck %s --check-prefix=SYMMETRIC
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-assign-ranges)' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges{mode=7})' 2>&1 | filecheck %s --check-prefix=MODE

// A rectified value starts at code -128, a fixed row keeps its encoding, 16 bits have no zero point.
// CHECK:      quant.params "r0" {statistics = {{.*}}, storage = i8, scale = {{.*}} : f32, zero_point = {{-?[0-9]+}}, threshold = {low = {{.*}}, high = {{.*}}}}
// CHECK-NEXT: quant.params "r1" {{.*}}zero_point = -128, threshold = {low = 0.000000e+00 : f64
// CHECK-NEXT: quant.params "r2" {storage = i8, scale = 0.003921569 : f32, zero_point = -128, fixed
// CHECK-NEXT: quant.params "r3" {storage = i16,{{.*}}zero_point = 0,
// SYMMETRIC:      quant.params "r0" {{.*}}zero_point = 0,
// SYMMETRIC-NEXT: quant.params "r1" {{.*}}zero_point = 0,
// EMPTY: error[QUANTIZATION_ERROR]: row 'r0' has no statistics
// MODE: error[PIPELINE_ERROR]: pass 'quant-assign-ranges': mode is 7, it must be one of 0, 1, 2
quant.params "r0"
quant.params "r1"
quant.params "r2" {storage = i8, scale = 0.003921569 : f32, zero_point = -128, fixed}
quant.params "r3" {storage = i16}
func.func @main(%x: tensor<1x64xf32> {mblt.name = "x"}) -> (tensor<1x64xf32> {mblt.name = "p"}, tensor<1x64xf32> {mblt.name = "y"}) {
  %0 = quant.quantize %x : tensor<1x64xf32> -> tensor<1x64x!quant.q<"r0">>
  %1 = quant.add %0, %0 {activation = "relu"} : (tensor<1x64x!quant.q<"r0">>, tensor<1x64x!quant.q<"r0">>) -> tensor<1x64x!quant.q<"r1">>
  %2 = quant.lut %1 {function = "sigmoid"} : tensor<1x64x!quant.q<"r1">> -> tensor<1x64x!quant.q<"r2">>
  %3 = quant.mul %0, %1 : (tensor<1x64x!quant.q<"r0">>, tensor<1x64x!quant.q<"r1">>) -> tensor<1x64x!quant.q<"r3">>
  %4 = quant.dequantize %2 : tensor<1x64x!quant.q<"r2">> -> tensor<1x64xf32>
  %5 = quant.dequantize %3 : tensor<1x64x!quant.q<"r3">> -> tensor<1x64xf32>
  func.return %4, %5 : tensor<1x64xf32>, tensor<1x64xf32>
}
