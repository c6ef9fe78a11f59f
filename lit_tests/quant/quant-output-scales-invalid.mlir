// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-output-scales{output=1})' 2>&1 | filecheck %s --check-prefix=EXTREMES
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-output-scales{output=3})' 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-output-scales{output-margin=-1.0})' 2>&1 | filecheck %s --check-prefix=MARGIN

// EXTREMES: error[VERIFY_ERROR]: 'quant.linear' op has no extremes of channels [node 'fc']
// EXTREMES-SAME: run quant-collect before quant-output-scales
// OUTPUT: output is 3, it must be from 0 to 2
// MARGIN: output-margin is -1.0, it must be at least 0
quant.params "r0" {storage = i8, scale = 0.5 : f32, zero_point = 0}
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = quant.quantize %x : tensor<2x2xf32> -> tensor<2x2x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f000000000000000000000041" : tensor<2x2xf32>>} : tensor<2x2x!quant.q<"r0">> -> tensor<2x2x!quant.q<"r0">> loc("fc")
  %y = quant.dequantize %1 : tensor<2x2x!quant.q<"r0">> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
