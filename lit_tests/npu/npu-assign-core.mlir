// RUN: qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-assign-core)' | filecheck %s

// Blocks of 16 channels, as many as the MAC array computes at once.
// CHECK-LABEL: @global
// CHECK: npu.linear ins(%x) outs(%y) {{{.*}}channels = [0, 32], core = 0}
// CHECK: npu.linear ins(%x) outs(%y) {{{.*}}channels = [32, 48], core = 1}
// CHECK: npu.linear ins(%x) outs(%y) {{{.*}}channels = [48, 64], core = 2}
// CHECK: npu.linear ins(%x) outs(%y) {{{.*}}channels = [64, 72], core = 3}
// CHECK-NEXT: npu.lut ins(%y) outs(%z) {table = #blob.ref<"t" : tensor<256xi8>>, core = 0}
npu.program @global target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 1024, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 2048} : !npu.buffer
  %z = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 3072} : !npu.buffer
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>}
  npu.lut ins(%y) outs(%z) {table = #blob.ref<"t" : tensor<256xi8>>}
  npu.return %z : !npu.buffer
}

// -----

// Few channels are spread too.
// CHECK-LABEL: @few
// CHECK: channels = [0, 1], core = 0
// CHECK: channels = [1, 2], core = 1
// CHECK: channels = [2, 3], core = 2
// CHECK-NOT: core = 3
npu.program @few target("aries-rb") mode("global8") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 4096, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x3xi8>, size = 3, space = "dram", address = 5120} : !npu.buffer
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<3x4xi8>>, bias = #blob.ref<"b" : tensor<3xi64>>, multiplier = #blob.ref<"m" : tensor<3xi64>>, shift = #blob.ref<"s" : tensor<3xi64>>}
  npu.return %y : !npu.buffer
}

// -----

// Blocks are whole groups.
// CHECK-LABEL: @groups
// CHECK: channels = [0, 2], core = 0
// CHECK: channels = [2, 4], core = 1
// CHECK: channels = [4, 6], core = 2
npu.program @groups target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4x4x6xi8>, size = 96, space = "dram", address = 6144, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x4x4x6xi8>, size = 96, space = "dram", address = 7168} : !npu.buffer
  npu.conv2d ins(%x) outs(%y) {strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 3, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x1x1x2xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>}
  npu.return %y : !npu.buffer
}

// -----

// Four images, each on its core; the constant is shared.
// CHECK-LABEL: @multi
// CHECK: %x = npu.buffer {{{.*}}space = "dram", address = 0, input = 0
// CHECK: %x_1 = npu.buffer {{{.*}}space = "dram", address = 128, input = 1
// CHECK: %x_2 = npu.buffer {{{.*}}space = "dram", address = 256, input = 2
// CHECK: %x_3 = npu.buffer {{{.*}}space = "dram", address = 384, input = 3
// CHECK: npu.constant
// CHECK-NOT: npu.constant
// CHECK: npu.maximum ins(%x, %c) outs(%y) {lo = -128, hi = 127, core = 0}
// CHECK: npu.maximum ins(%x_1, %c) outs(%y_1) {lo = -128, hi = 127, core = 1}
// CHECK: npu.maximum ins(%x_2, %c) outs(%y_2) {lo = -128, hi = 127, core = 2}
// CHECK: npu.maximum ins(%x_3, %c) outs(%y_3) {lo = -128, hi = 127, core = 3}
// CHECK: npu.return %y, %y_1, %y_2, %y_3
npu.program @multi target("aries-rb") mode("multi") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<2x4xi8>, size = 8, space = "dram", address = 0, input = 0} : !npu.buffer
  %c = npu.constant {value = #blob.ref<"c" : tensor<2x4xi8>>} : !npu.buffer
  %y = npu.buffer {type = !npu.t<2x4xi8>, size = 8, space = "dram", address = 64} : !npu.buffer
  npu.maximum ins(%x, %c) outs(%y) {lo = -128, hi = 127}
  npu.return %y : !npu.buffer
}

// -----

// One core: nothing to do.
// CHECK-LABEL: @single
// CHECK-NOT: core
// CHECK: npu.return
npu.program @single target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %x = npu.buffer {type = !npu.t<1x4xi8>, size = 4, space = "dram", address = 8192, input = 0} : !npu.buffer
  %y = npu.buffer {type = !npu.t<1x72xi8>, size = 72, space = "dram", address = 9216} : !npu.buffer
  npu.linear ins(%x) outs(%y) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<72x4xi8>>, bias = #blob.ref<"b" : tensor<72xi64>>, multiplier = #blob.ref<"m" : tensor<72xi64>>, shift = #blob.ref<"s" : tensor<72xi64>>}
  npu.return %y : !npu.buffer
}
