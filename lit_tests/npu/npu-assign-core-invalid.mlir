// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-assign-core)' 2>&1 | filecheck %s

// CHECK: error[PIPELINE_ERROR]: pass 'npu-assign-core' works on npu.buffers operations, found npu.values operations (run npu-assign-buffers first)
npu.program @main(%x: !npu.t<1x4xi8>) target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  npu.return %x : !npu.t<1x4xi8>
}
