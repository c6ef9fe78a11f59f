// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-emit)' 2>&1 | filecheck %s

// CHECK: error[VERIFY_ERROR]: 'npu.buffer' op has no address [node 'Y'] (run npu-assign-address before npu-emit)
npu.program @main target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}
