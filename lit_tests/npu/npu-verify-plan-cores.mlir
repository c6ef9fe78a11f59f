// RUN: not qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-verify-plan)' 2>&1 | filecheck %s

// CHECK: V3: graph output 'y' reads channel 32 of the buffer of Y, which nothing has written
npu.program @gap target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 64} : !npu.buffer loc("Y")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [0, 32], core = 0} loc("fc")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [48, 72], core = 1} loc("fc")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V3: npu.lut of Z reads channel 0 of the buffer of Y
npu.program @early target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 64} : !npu.buffer loc("Y")
  %z = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 192} : !npu.buffer loc("Z")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [32, 72], core = 0} loc("fc")
  npu.lut ins(%y) outs(%z) {table = #blob.ref<"t" : tensor<256xi8>>} loc("Z")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [0, 32], core = 1} loc("fc")
  npu.return %z : !npu.buffer
}

// -----

// CHECK: V4: npu.linear of fc writes the buffer of Y a second time
npu.program @twice target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 64} : !npu.buffer loc("Y")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [0, 32], core = 0} loc("fc")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [31, 72], core = 1} loc("fc")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V13: npu.linear of fc is on core 4, mode global4 has 4
npu.program @core target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 64} : !npu.buffer loc("Y")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [0, 32], core = 0} loc("fc")
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>, channels = [32, 72], core = 4} loc("fc")
  npu.return %y : !npu.buffer
}

// -----

// CHECK: V14: npu.lut of Y3 on core 3 uses graph input 2 of core 2
npu.program @shared target("aries-rb") mode("multi") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %x1 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 64, input = 1} : !npu.buffer
  %x2 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 128, input = 2} : !npu.buffer
  %x3 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 192, input = 3} : !npu.buffer
  %y0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 256} : !npu.buffer loc("Y0")
  %y1 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 320} : !npu.buffer loc("Y1")
  %y2 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 384} : !npu.buffer loc("Y2")
  %y3 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 448} : !npu.buffer loc("Y3")
  npu.lut ins(%x0) outs(%y0) {table = #blob.ref<"t" : tensor<256xi8>>, core = 0} loc("Y0")
  npu.lut ins(%x1) outs(%y1) {table = #blob.ref<"t" : tensor<256xi8>>, core = 1} loc("Y1")
  npu.lut ins(%x2) outs(%y2) {table = #blob.ref<"t" : tensor<256xi8>>, core = 2} loc("Y2")
  npu.lut ins(%x2) outs(%y3) {table = #blob.ref<"t" : tensor<256xi8>>, core = 3} loc("Y3")
  npu.return %y0, %y1, %y2, %y3 : !npu.buffer, !npu.buffer, !npu.buffer, !npu.buffer
}

// -----

// CHECK: V14: the buffer of {{Y[23]}} of core {{[23]}} overlaps the buffer of {{Y[23]}} of core {{[23]}}
npu.program @overlap target("aries-rb") mode("multi") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %x1 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 64, input = 1} : !npu.buffer
  %x2 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 128, input = 2} : !npu.buffer
  %x3 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 192, input = 3} : !npu.buffer
  %y0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 256} : !npu.buffer loc("Y0")
  %y1 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 320} : !npu.buffer loc("Y1")
  %y2 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 384} : !npu.buffer loc("Y2")
  %y3 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 384} : !npu.buffer loc("Y3")
  npu.lut ins(%x0) outs(%y0) {table = #blob.ref<"t" : tensor<256xi8>>, core = 0} loc("Y0")
  npu.lut ins(%x1) outs(%y1) {table = #blob.ref<"t" : tensor<256xi8>>, core = 1} loc("Y1")
  npu.lut ins(%x2) outs(%y2) {table = #blob.ref<"t" : tensor<256xi8>>, core = 2} loc("Y2")
  npu.lut ins(%x3) outs(%y3) {table = #blob.ref<"t" : tensor<256xi8>>, core = 3} loc("Y3")
  npu.return %y0, %y1, %y2, %y3 : !npu.buffer, !npu.buffer, !npu.buffer, !npu.buffer
}

// -----

// CHECK: V12: graph inputs are numbered [0]
npu.program @one target("aries-rb") mode("multi") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 0, input = 0} : !npu.buffer
  %y0 = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 256} : !npu.buffer loc("Y0")
  npu.lut ins(%x0) outs(%y0) {table = #blob.ref<"t" : tensor<256xi8>>, core = 0} loc("Y0")
  npu.return %y0 : !npu.buffer
}
