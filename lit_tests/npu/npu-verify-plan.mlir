// RUN: not qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-verify-plan)' 2>&1 | filecheck %s

// CHECK: error[RESOURCE_ERROR]: V1: npu.lut of B overwrites the buffer of A before npu.maximum of Y reads it
// CHECK-NEXT: at "Y"
// CHECK-NEXT: op: npu.maximum ins(
// CHECK-NEXT: the memory plan of @v1 is not sound
// CHECK-NEXT: while running pass npu-verify-plan
npu.program @v1 target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %b = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 64} : !npu.buffer loc("B")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%x) outs(%b) {table = #blob.ref<"t" : tensor<256xi8>>} loc("B")
  npu.maximum ins(%a, %b) outs(%y) {lo = -128, hi = 127} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V1: npu.lut of Y writes over graph input 0 while it reads it
npu.program @in_place target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 64} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V2: the buffer of A ends at 1048676, l2 has 1048576 bytes
// CHECK: V2: the buffer of Y is at 130, not a multiple of 64
npu.program @v2 target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 1048576} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 130} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V2: the buffer of A has no address
npu.program @v2_open target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V3: npu.lut of Y reads the buffer of A, which nothing has written
npu.program @v3 target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V3: graph output 'y' reads the buffer of Y, which nothing has written
npu.program @v3_output target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V4: npu.lut of B writes the buffer of A a second time
npu.program @v4 target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("B")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V4: npu.lut of B writes to graph input 0
npu.program @v4_input target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%a) outs(%x) {table = #blob.ref<"t" : tensor<256xi8>>} loc("B")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V4: npu.lut of Y writes to a view
npu.program @v4_view target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  %v = npu.view %y {type = !npu.t<100xi8>, offset = 0} : !npu.buffer
  npu.lut ins(%a) outs(%v) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V12: graph inputs are numbered [1]
npu.program @v12 target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 1} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}

// -----

// Sound: nothing is reported and nothing changes (results print after all reports).
// CHECK-NOT: V{{[0-9]}}
// CHECK: npu.program @sound
npu.program @sound target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 0, input = 0} : !npu.buffer
  %a = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "l2", address = 0} : !npu.buffer loc("A")
  %y = npu.buffer {type = !npu.t<100xi8>, size = 100, space = "dram", address = 128} : !npu.buffer loc("Y")
  npu.lut ins(%x) outs(%a) {table = #blob.ref<"t" : tensor<256xi8>>} loc("A")
  npu.lut ins(%a) outs(%y) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Y")
  npu.return %y : !npu.buffer
}
