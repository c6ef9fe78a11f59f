// RUN: qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-fuse)' | filecheck %s

// A table behind a convolution, both locations stay.
// CHECK-LABEL: @table
// CHECK: npu.conv2d %x {{{.*}}table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8> loc(fused["conv", "act"])
// CHECK-NOT: npu.lut
npu.program @table(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8> loc("conv")
  %1 = npu.lut %0 {table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8> loc("act")
  npu.return %1 : !npu.t<1x4x4x2xi8>
}

// -----

// The convolution is operand b of the addition: the multipliers swap.
// CHECK-LABEL: @residual
// CHECK: npu.conv2d %x, %x {{{.*}}add_ma = 6, add_mb = 5, add_s = 7, add_za = 4, add_zb = 3, add_z = 1, add_lo = -128, add_hi = 127}
// CHECK-NOT: npu.add
npu.program @residual(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %1 = npu.add %x, %0 {za = 3, zb = 4, ma = 5, mb = 6, s = 7, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  npu.return %1 : !npu.t<1x4x4x2xi8>
}

// -----

// Of two convolutions the later one takes the addition.
// CHECK-LABEL: @two
// CHECK: %0 = npu.conv2d %x {
// CHECK: npu.conv2d %0, %0 {{{.*}}add_ma = 6
npu.program @two(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %1 = npu.conv2d %0 {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %2 = npu.add %0, %1 {za = 3, zb = 4, ma = 5, mb = 6, s = 7, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  npu.return %2 : !npu.t<1x4x4x2xi8>
}

// -----

// Not fused: the result is read twice.
// CHECK-LABEL: @shared
// CHECK: npu.conv2d %x {
// CHECK: npu.lut
// CHECK: npu.lut
npu.program @shared(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %1 = npu.lut %0 {table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %2 = npu.lut %0 {table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %3 = npu.concat %1, %2 {axis = 0} : !npu.t<1x4x4x2xi8>, !npu.t<1x4x4x2xi8> -> !npu.t<2x4x4x2xi8>
  npu.return %3 : !npu.t<2x4x4x2xi8>
}

// -----

// Not fused: the addition broadcasts.
// CHECK-LABEL: @broadcast
// CHECK: npu.conv2d %x {
// CHECK: npu.add
npu.program @broadcast(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %c = npu.constant {value = #blob.ref<"c" : tensor<2xi8>>} : !npu.t<2xi8>
  %1 = npu.add %0, %c {za = 3, zb = 4, ma = 5, mb = 6, s = 7, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<2xi8> -> !npu.t<1x4x4x2xi8>
  npu.return %1 : !npu.t<1x4x4x2xi8>
}

// -----

// Not fused: the convolution is added to itself, or has a table already.
// CHECK-LABEL: @twice
// CHECK: npu.conv2d %x {{{.*}}table
// CHECK: npu.add
npu.program @twice(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %1 = npu.lut %0 {table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  %2 = npu.add %1, %x {za = 3, zb = 4, ma = 5, mb = 6, s = 7, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  npu.return %2 : !npu.t<1x4x4x2xi8>
}
