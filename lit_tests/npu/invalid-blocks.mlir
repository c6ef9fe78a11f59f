// RUN: qbc-opt %s --split-input-file --verify-diagnostics

npu.program @main target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %a = npu.buffer {type = !npu.t<1x4xi8>, size = 4, input = 0} : !npu.buffer
  %b = npu.buffer {type = !npu.t<1x6xi8>, size = 6} : !npu.buffer
  // expected-error@+1 {{channels must have 2 entries, has 1}}
  npu.linear ins(%a) outs(%b) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x4xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>, channels = [1]}
  npu.return %b : !npu.buffer
}

// -----

npu.program @main target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %a = npu.buffer {type = !npu.t<1x4xi8>, size = 4, input = 0} : !npu.buffer
  %b = npu.buffer {type = !npu.t<1x6xi8>, size = 6} : !npu.buffer
  // expected-error@+1 {{channels [3, 7] is not a block of 6 output channels}}
  npu.linear ins(%a) outs(%b) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x4xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>, channels = [3, 7]}
  npu.return %b : !npu.buffer
}

// -----

npu.program @main target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %a = npu.buffer {type = !npu.t<1x4xi8>, size = 4, input = 0} : !npu.buffer
  %b = npu.buffer {type = !npu.t<1x6xi8>, size = 6} : !npu.buffer
  // expected-error@+1 {{channels [3, 3] is not a block of 6 output channels}}
  npu.linear ins(%a) outs(%b) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x4xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>, channels = [3, 3]}
  npu.return %b : !npu.buffer
}

// -----

npu.program @main target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %a = npu.buffer {type = !npu.t<1x4xi8>, size = 4, input = 0} : !npu.buffer
  %b = npu.buffer {type = !npu.t<1x6xi8>, size = 6} : !npu.buffer
  // expected-error@+1 {{core must not be negative, is -1}}
  npu.linear ins(%a) outs(%b) {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x4xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>, core = -1}
  npu.return %b : !npu.buffer
}

// -----

npu.program @main(%x: !npu.t<1x4xi8>) target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{a block of channels has no value form: several commands write one buffer}}
  %0 = npu.linear %x {zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x4xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>, channels = [0, 3]} : !npu.t<1x4xi8> -> !npu.t<1x6xi8>
  npu.return %0 : !npu.t<1x6xi8>
}

// -----

npu.program @main target("aries-rb") mode("global4") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %a = npu.buffer {type = !npu.t<1x4x4x6xi8>, size = 96, input = 0} : !npu.buffer
  %b = npu.buffer {type = !npu.t<1x4x4x6xi8>, size = 96} : !npu.buffer
  // expected-error@+1 {{channels [0, 3] splits a group of 2}}
  npu.conv2d ins(%a) outs(%b) {strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 3, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<6x1x1x2xi8>>, bias = #blob.ref<"b" : tensor<6xi64>>, multiplier = #blob.ref<"m" : tensor<6xi64>>, shift = #blob.ref<"s" : tensor<6xi64>>, channels = [0, 3]}
  npu.return %b : !npu.buffer
}

// -----

// expected-error@+1 {{2 inputs, 1 host descriptors}}
npu.program @main target("aries-rb") mode("multi") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %a = npu.buffer {type = !npu.t<4xi8>, size = 4, input = 0} : !npu.buffer
  %b = npu.buffer {type = !npu.t<4xi8>, size = 4, input = 1} : !npu.buffer
  npu.return %a : !npu.buffer
}
