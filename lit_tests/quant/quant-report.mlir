// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(convert-mblt-to-quant,quant-assign-bits,quant-collect,quant-assign-ranges,quant-insert-requant,quant-materialize,quant-report)' | filecheck %s
// RUN: not qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(convert-mblt-to-quant,quant-report)' 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(convert-mblt-to-quant,quant-assign-bits,quant-collect,quant-assign-ranges,quant-materialize,convert-quant-to-npu,quant-report)' 2>&1 | filecheck %s --check-prefix=LATE

// LATE: error[PIPELINE_ERROR]
// The report leaves the integer graph as it is.
// CHECK:      quant.quantize %x
// CHECK-NEXT: quant.lut %0 {table = #blob.ref<{{.*}}>}
// CHECK-NEXT: quant.dequantize %1
// ALONE: error[PIPELINE_ERROR]: pass 'quant-report' works on quant.materialized operations, found quant.created operations
func.func @main(%x: tensor<1x8xf32> {mblt.name = "x"}) -> (tensor<1x8xf32> {mblt.name = "y"}) {
  %0 = mblt.tanh %x : tensor<1x8xf32> -> tensor<1x8xf32> loc("tanh")
  func.return %0 : tensor<1x8xf32>
}
