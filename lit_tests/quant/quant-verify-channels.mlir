// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-verify{level=ranged})' 2>&1 | filecheck %s

// The scales must be as many as there are channels, and those of a moved channel must stay the same.
// CHECK: row 'k' has 3 scales, the value has shape tensor<1x2x!quant.q<"k">>
quant.params "r0" {storage = i8, scale = 0.5 : f32, zero_point = 0}
quant.params "k" {storage = i8, scales = #blob.inline<"0000803f0000803f0000803f" : tensor<3xf32>>, zero_point = 0}
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = quant.quantize %x : tensor<1x2xf32> -> tensor<1x2x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f000000000000000000000041" : tensor<2x2xf32>>} : tensor<1x2x!quant.q<"r0">> -> tensor<1x2x!quant.q<"k">>
  %y = quant.dequantize %1 : tensor<1x2x!quant.q<"k">> -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
