// RUN: qbc-opt %s --pass-pipeline='npu.program(npu-emit)' | filecheck %s
// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode,npu-emit)' --target-device nowhere 2>&1 | filecheck %s --check-prefix=TARGET

// CHECK: npu.program @main{{.*}} attributes {code = #blob.ref<"{{[0-9a-f]+}}" : tensor<{{[0-9]+}}xui8>>, debug = #blob.ref<"{{[0-9a-f]+}}" : tensor<{{[0-9]+}}xui8>>} {
// TARGET: error[TARGET_ERROR]
npu.program @main target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.requantize ins(%x) outs(%y) {zx = 0, m = 1, s = 1, z = 0, lo = -128, hi = 127} loc("Y")
  npu.return %y : !npu.buffer
}
