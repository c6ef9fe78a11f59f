// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-output-scales{output=1},quant-verify{level=ranged})' | filecheck %s
// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-output-scales{output=1},quant-materialize,quant-verify,convert-quant-to-npu)' | filecheck %s --check-prefix=NPU

// An addition has one scale, a clamp at six is the same code for all channels, a value that is read inside keeps its own.
// CHECK-NOT: scales =
// CHECK-LABEL: @main
// NPU-LABEL: npu.program @main
// NPU-SAME: outputs(#npu.host<"sum", f32, {{[0-9.e-]+}} : {{-?[0-9]+}}>, #npu.host<"six", f32, {{[0-9.e-]+}} : {{-?[0-9]+}}>, #npu.host<"read", f32, {{[0-9.e-]+}} : {{-?[0-9]+}}>)
quant.params "r0" {storage = i8}
quant.params "r1" {storage = i8}
quant.params "r2" {storage = i8}
quant.params "r3" {storage = i8}
func.func @main(%x: tensor<5000x2xf32> {mblt.name = "x"}) -> (tensor<5000x2xf32> {mblt.name = "sum"}, tensor<5000x2xf32> {mblt.name = "six"}, tensor<5000x2xf32> {mblt.name = "read"}) {
  %0 = quant.quantize %x : tensor<5000x2xf32> -> tensor<5000x2x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f000000000000000000000041" : tensor<2x2xf32>>} : tensor<5000x2x!quant.q<"r0">> -> tensor<5000x2x!quant.q<"r1">>
  %2 = quant.add %1, %0 : (tensor<5000x2x!quant.q<"r1">>, tensor<5000x2x!quant.q<"r0">>) -> tensor<5000x2x!quant.q<"r2">>
  %3 = quant.linear %0 {weight = #blob.inline<"0000803f000000000000000000000041" : tensor<2x2xf32>>, activation = "relu6"} : tensor<5000x2x!quant.q<"r0">> -> tensor<5000x2x!quant.q<"r3">>
  %a = quant.dequantize %2 : tensor<5000x2x!quant.q<"r2">> -> tensor<5000x2xf32>
  %b = quant.dequantize %3 : tensor<5000x2x!quant.q<"r3">> -> tensor<5000x2xf32>
  %c = quant.dequantize %1 : tensor<5000x2x!quant.q<"r1">> -> tensor<5000x2xf32>
  func.return %a, %b, %c : tensor<5000x2xf32>, tensor<5000x2xf32>, tensor<5000x2xf32>
}
