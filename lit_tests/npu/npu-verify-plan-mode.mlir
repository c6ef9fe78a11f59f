// RUN: not qbc-opt %s --target-device regulus-ra --pass-pipeline='npu.program(npu-verify-plan)' 2>&1 | filecheck %s

// CHECK: V7: the target has no core mode 'multi'
npu.program @main target("regulus-ra") mode("multi") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  npu.return %x : !npu.buffer
}
