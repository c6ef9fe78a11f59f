// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-collect)' | filecheck %s
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(quant-collect)' 2>&1 | filecheck %s --check-prefix=NODATA

// Every row gets the statistics of its values; what only moves (the reshape) adds nothing to its row.
// CHECK:      quant.params "r0" {statistics = {v0000.moments = {{.*}}, v0000.counts = #blob.ref<{{.*}} : tensor<4096xi64>>, v0000.largest = {{.*}}, v0000.smallest = {{.*}}}}
// CHECK-NEXT: quant.params "r1" {statistics = {v0001.{{.*}}}}
// CHECK-NOT:  v0002
// The float graph that was run is kept for quant-report.
// CHECK:      func.func @main({{.*}}attributes {quant.float_graph = {text = #blob.ref<{{.*}}ui8>>, weights = []}} {
// CHECK:      quant.linear %0 {weight = {{.*}}, input_mean = #blob.ref<{{.*}} : tensor<3xf32>>, channel_extremes = #blob.ref<{{.*}} : tensor<3x2xf64>>}
// NODATA: error[NO_CALIBRATION_DATA]: no calibration dataset is provided
// NODATA-NOT: Traceback
quant.params "r0"
quant.params "r1"
func.func @main(%x: tensor<1x3xf32> {mblt.name = "x"}) -> (tensor<2x1xf32> {mblt.name = "y"}) {
  %0 = quant.quantize %x : tensor<1x3xf32> -> tensor<1x3x!quant.q<"r0">>
  %1 = quant.linear %0 {weight = #blob.inline<"0000803f00000040000040400000803f0000000000000000" : tensor<2x3xf32>>} : tensor<1x3x!quant.q<"r0">> -> tensor<1x2x!quant.q<"r1">>
  %2 = quant.reshape %1 : tensor<1x2x!quant.q<"r1">> -> tensor<2x1x!quant.q<"r1">>
  %3 = quant.dequantize %2 : tensor<2x1x!quant.q<"r1">> -> tensor<2x1xf32>
  func.return %3 : tensor<2x1xf32>
}
