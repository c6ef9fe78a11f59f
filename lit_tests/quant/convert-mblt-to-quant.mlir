// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(convert-mblt-to-quant)' | filecheck %s
// RUN: qbc-opt %s --split-input-file --pass-pipeline='builtin.module(convert-mblt-to-quant{method=0})' | filecheck %s --check-prefix=OWN

// Every value has a row, movement shares one, a sigmoid head is fixed, relu is the clamp of its producer.
// CHECK: quant.params "r0"
// CHECK-NEXT: quant.params "r1"
// CHECK-NEXT: quant.params "r2" {storage = i8, scale = 0.003921569 : f32, zero_point = -128, fixed}
// CHECK-LABEL: @chain
// CHECK: %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
// CHECK: %1 = quant.linear %0 {{{.*}}activation = "relu"} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">> loc(fused["fc", "act"])
// CHECK: %2 = quant.reshape %1 : tensor<1x4x!quant.q<"r1">> -> tensor<2x2x!quant.q<"r1">>
// CHECK: %3 = quant.lut %2 {function = "sigmoid"} : tensor<2x2x!quant.q<"r1">> -> tensor<2x2x!quant.q<"r2">>
// CHECK: %4 = quant.dequantize %3 : tensor<2x2x!quant.q<"r2">> -> tensor<2x2xf32>
func.func @chain(%x: tensor<1x4xf32>) -> tensor<2x2xf32> {
  %0 = mblt.linear %x {weight = #blob.ref<"w" : tensor<4x4xf32>>} : tensor<1x4xf32> -> tensor<1x4xf32> loc("fc")
  %1 = mblt.relu %0 : tensor<1x4xf32> -> tensor<1x4xf32> loc("act")
  %2 = mblt.reshape %1 : tensor<1x4xf32> -> tensor<2x2xf32>
  %3 = mblt.sigmoid %2 : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}

// -----

// Branches of a concatenation share a row with methods 1 and 3 only.
// CHECK-LABEL: @union
// CHECK: quant.concat %0, %1 {axis = 1} : (tensor<1x4x!quant.q<"r0">>, tensor<1x4x!quant.q<"r0">>) -> tensor<1x8x!quant.q<"r0">>
// OWN-LABEL: @union
// OWN: quant.concat %0, %1 {axis = 1} : (tensor<1x4x!quant.q<"r0">>, tensor<1x4x!quant.q<"r1">>) -> tensor<1x8x!quant.q<"r2">>
func.func @union(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x8xf32> {
  %0 = mblt.concat %x, %y {axis = 1} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x8xf32>
  func.return %0 : tensor<1x8xf32>
}

// -----

// A relu whose operand has other users becomes a requantize that clamps.
// CHECK-LABEL: @shared
// CHECK: %1 = quant.linear %0 {weight = #blob.ref<"w" : tensor<4x4xf32>>}
// CHECK: %2 = quant.requantize %1 {activation = "relu"}
// CHECK: quant.add %1, %2
func.func @shared(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = mblt.linear %x {weight = #blob.ref<"w" : tensor<4x4xf32>>} : tensor<1x4xf32> -> tensor<1x4xf32>
  %1 = mblt.relu %0 : tensor<1x4xf32> -> tensor<1x4xf32>
  %2 = mblt.add %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %2 : tensor<1x4xf32>
}

// -----

// Indices have no encoding.
// CHECK-LABEL: @indices
// CHECK-SAME: %i: tensor<2xi32>
// CHECK: quant.gather %0, %i {axis = 0} : (tensor<7x3x!quant.q<"r0">>, tensor<2xi32>) -> tensor<2x3x!quant.q<"r0">>
func.func @indices(%x: tensor<7x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = mblt.gather %x, %i {axis = 0} : (tensor<7x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
