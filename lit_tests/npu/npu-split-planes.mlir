// RUN: qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-split-planes)' | filecheck %s

// CHECK-LABEL: @wide
// CHECK: %[[HI:.*]] = npu.conv2d %x {{{.*}}plane = "hi", weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>} : !npu.t<1x4x4x2xi16> -> !npu.t<1x4x4x2xi32> loc("conv")
// CHECK: npu.conv2d %x, %[[HI]] {{{.*}}plane = "lo"{{.*}}table = {{.*}} : !npu.t<1x4x4x2xi16>, !npu.t<1x4x4x2xi32> -> !npu.t<1x4x4x2xi8> loc("conv")
npu.program @wide(%x: !npu.t<1x4x4x2xi16>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>, table = #blob.ref<"t" : tensor<256xi8>>} : !npu.t<1x4x4x2xi16> -> !npu.t<1x4x4x2xi8> loc("conv")
  npu.return %0 : !npu.t<1x4x4x2xi8>
}

// -----

// Not split: the input has 8 bits.
// CHECK-LABEL: @narrow
// CHECK-NOT: plane
// CHECK: npu.return
npu.program @narrow(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = 0, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  npu.return %0 : !npu.t<1x4x4x2xi8>
}
