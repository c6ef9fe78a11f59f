// RUN: qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-assign-address)' | filecheck %s
// RUN: qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-assign-address{on-chip=false})' | filecheck %s --check-prefix=DRAM

// Inputs and outputs stay in DRAM; %a and %c are never alive together and share bytes.
// CHECK-LABEL: @main
// CHECK: %x = npu.buffer {size = 100, space = "dram", address = 0, input = 0
// CHECK: %a = npu.buffer {size = 100, space = "l2", address = 0
// CHECK: %b = npu.buffer {size = 100, space = "l2", address = 128
// CHECK: %c = npu.buffer {size = 100, space = "l2", address = 0
// CHECK: %y = npu.buffer {size = 100, space = "dram", address = 0
// DRAM-LABEL: @main
// DRAM-NOT: "l2"
// DRAM: npu.return
npu.program @main target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100} : !npu.buffer
  %b = npu.buffer {type = !npu.t<100xi8>, size = 100} : !npu.buffer
  %c = npu.buffer {type = !npu.t<100xi8>, size = 100} : !npu.buffer
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100} : !npu.buffer
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.lut ins(%a) outs(%b) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.lut ins(%b) outs(%c) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.lut ins(%c) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.return %y : !npu.buffer
}

// -----

// What does not fit on chip goes to DRAM.
// CHECK-LABEL: @large
// CHECK: %a = npu.buffer {size = 5000000, space = "dram"
// CHECK: %b = npu.buffer {size = 5000000, space = "dram"
npu.program @large target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<5000000xi8>, size = 5000000, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<5000000xi8>, size = 5000000} : !npu.buffer
  %b = npu.buffer {type = !npu.t<5000000xi8>, size = 5000000} : !npu.buffer
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.lut ins(%a) outs(%b) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.return %b : !npu.buffer
}
