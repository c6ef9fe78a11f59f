// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-output-scales{output=1},quant-verify{level=ranged})' | filecheck %s
// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-output-scales{output=1},quant-materialize,quant-verify,convert-quant-to-npu)' | filecheck %s --check-prefix=NPU
// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-output-scales{output=0})' | filecheck %s --check-prefix=LAYER
// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect,quant-assign-ranges,quant-output-scales{output=2})' | filecheck %s --check-prefix=SIGMOID

// A linear layer takes a scale for each channel into its multipliers; the reshape repeats them.
// CHECK: quant.params "[[WIDE:r[0-9]+]]" {storage = i8, scales = #blob.ref<{{.*}} : tensor<2xf32>>, zero_point = {{.*}}}
// CHECK: func.func @main
// CHECK: quant.linear {{.*}} -> tensor<5000x2x!quant.q<"[[WIDE]]">>
// CHECK: quant.reshape %1 : tensor<5000x2x!quant.q<"[[WIDE]]">> -> tensor<1x5000x2x!quant.q<"[[WIDE]]">>
// NPU: npu.program @main
// NPU-SAME: outputs(#npu.host<"y", f32, [{{[0-9.e-]+, [0-9.e-]+}}] : {{-?[0-9]+}}>)
// LAYER-NOT: scales =
// SIGMOID-NOT: scales =
// SIGMOID: threshold = {low = {{.*}}, high = {{.*}}}
quant.params "r0" {storage = i8}
quant.params "r1" {storage = i8}
func.func @main(%x: tensor<5000x2xf32> {mblt.name = "x"}) -> (tensor<1x5000x2xf32> {mblt.name = "y"}) {
  %0 = quant.quantize %x : tensor<5000x2xf32> -> tensor<5000x2x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f000000000000000000000041" : tensor<2x2xf32>>} : tensor<5000x2x!quant.q<"r0">> -> tensor<5000x2x!quant.q<"r1">>
  %2 = quant.reshape %1 : tensor<5000x2x!quant.q<"r1">> -> tensor<1x5000x2x!quant.q<"r1">>
  %y = quant.dequantize %2 : tensor<1x5000x2x!quant.q<"r1">> -> tensor<1x5000x2xf32>
  func.return %y : tensor<1x5000x2xf32>
}
