// RUN: qbc-opt %s --split-input-file --verify-diagnostics

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{result shape is [3, 2], the operation gives [2, 3]}}
  %0 = npu.transpose %x {permutation = [1, 0]} : !npu.t<3x2xi8> -> !npu.t<3x2xi8>
  npu.return %0 : !npu.t<3x2xi8>
}

// -----

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{[0, 0] is not a permutation of 2 axes}}
  %0 = npu.transpose %x {permutation = [0, 0]} : !npu.t<3x2xi8> -> !npu.t<3x2xi8>
  npu.return %0 : !npu.t<3x2xi8>
}

// -----

npu.program @main(%x: !npu.t<3x2xi16>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{input must hold i8, not i16}}
  %0 = npu.lut %x {table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<3x2xi16> -> !npu.t<3x2xi8>
  npu.return %0 : !npu.t<3x2xi8>
}

// -----

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{table must be int8[256], is int8[255]}}
  %0 = npu.lut %x {table = #blob.ref<"t" : tensor<255xi8>>} : !npu.t<3x2xi8> -> !npu.t<3x2xi8>
  npu.return %0 : !npu.t<3x2xi8>
}

// -----

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{clamp range is empty: lo = 4, hi = 3}}
  %0 = npu.requantize %x {zx = 0, m = 1, s = 1, z = 0, lo = 4, hi = 3} : !npu.t<3x2xi8> -> !npu.t<3x2xi8>
  npu.return %0 : !npu.t<3x2xi8>
}

// -----

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{have different sizes}}
  %0 = npu.reshape %x : !npu.t<3x2xi8> -> !npu.t<5xi8>
  npu.return %0 : !npu.t<5xi8>
}

// -----

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{element types differ: i8 and i16}}
  %0 = npu.reshape %x : !npu.t<3x2xi8> -> !npu.t<6xi16>
  npu.return %0 : !npu.t<6xi16>
}

// -----

npu.program @main(%x: !npu.t<3x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{axes [2] are not distinct axes of [3, 2]}}
  %0 = npu.reduce_max %x {axes = [2]} : !npu.t<3x2xi8> -> !npu.t<3xi8>
  npu.return %0 : !npu.t<3xi8>
}

// -----

npu.program @main(%x: !npu.t<3xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{start 1, step 2, count 2 leave the axis of size 3}}
  %0 = npu.slice %x {starts = [1], steps = [2]} : !npu.t<3xi8> -> !npu.t<2xi8>
  npu.return %0 : !npu.t<2xi8>
}

// -----

npu.program @main(%x: !npu.t<4xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{size is 5 bytes}}
  %b = npu.buffer {type = !npu.t<4xi8>, size = 5} : !npu.buffer
  npu.return %x : !npu.t<4xi8>
}

// -----

npu.program @main(%x: !npu.t<4xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // expected-error@+1 {{space and address belong together}}
  %b = npu.buffer {type = !npu.t<4xi8>, size = 4, space = "l2"} : !npu.buffer
  npu.return %x : !npu.t<4xi8>
}

// -----

npu.program @main(%x: !npu.t<4xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %b = npu.buffer {type = !npu.t<4xi8>, size = 4} : !npu.buffer
  // expected-error@+1 {{4 bytes from 2 leave a buffer of 4 bytes}}
  %v = npu.view %b {type = !npu.t<4xi8>, offset = 2} : !npu.buffer
  npu.return %x : !npu.t<4xi8>
}

// -----

// expected-error@+1 {{1 outputs, 2 host descriptors}}
npu.program @main(%x: !npu.t<4xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>, #npu.host<"z", f32, 0.25 : 0>) {
  npu.return %x : !npu.t<4xi8>
}

// -----

// expected-error@+1 {{'x' is f32 at the host and i32 on the device}}
npu.program @main(%x: !npu.t<4xi32>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  npu.return %x : !npu.t<4xi32>
}

// -----

// expected-error@+1 {{mode must be one of}}
npu.program @main(%x: !npu.t<4xi8>) target("aries-rb") mode("both") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  npu.return %x : !npu.t<4xi8>
}

// -----

// expected-error@+1 {{0 inputs, 1 host descriptors}}
npu.program @main target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.5 : 0>) {
  // expected-error@+1 {{should be of base attribute integer}}
  %a = npu.buffer {type = !npu.t<1x4xi8>, size = 4, input = dense<0> : tensor<1xi64>} : !npu.buffer
  npu.return %a : !npu.buffer
}
