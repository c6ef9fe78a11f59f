// RUN: qbc-opt %s --pass-pipeline='mblt-fuse-activation,cse' --print-pipeline | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='builtin.module( func.func( mblt-fuse-activation ), cse )' --print-pipeline | filecheck %s
// RUN: not qbc-opt %s --pass-pipeline='func.func(cse)' 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not qbc-opt %s --pass-pipeline='convert-quant-to-npu' 2>&1 | filecheck %s --check-prefix=DIALECT
// RUN: qbc-opt %s --pass-pipeline='func.func(mblt-fuse-activation),builtin.module(cse)' --print-pipeline | filecheck %s

// CHECK: builtin.module(func.func(mblt-fuse-activation),cse)
// WRONG: error[PIPELINE_ERROR]: pass 'cse' runs on builtin.module, not inside func.func
// DIALECT: error[PIPELINE_ERROR]: pass 'convert-quant-to-npu' works on quant.materialized operations, found mblt operations (run quant-materialize first)
func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
  %0 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}
