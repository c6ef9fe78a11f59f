// RUN: qbc-opt %s | qbc-opt | filecheck %s

// CHECK: npu.program @values(%x: !npu.t<1x4x4x2xi8>, %i: !npu.t<3xi32>) target("aries-rb") mode("single") variant(0)
// CHECK-SAME: inputs(#npu.host<"image", f32, 5.000000e-01 : -1, "nchw">, #npu.host<"ids", i32, 1.000000e+00 : 0>)
// CHECK-SAME: outputs(#npu.host<"y", f32, 2.500000e-01 : 0>) {
npu.program @values(%x: !npu.t<1x4x4x2xi8>, %i: !npu.t<3xi32>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"image", f32, 0.5 : -1, "nchw">, #npu.host<"ids", i32, 1.0 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  // CHECK: npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = -1, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>
  %0 = npu.conv2d %x {strides = [1, 1], padding = [1, 1, 1, 1], dilations = [1, 1], groups = 1, zx = -1, z = 0, lo = -128, hi = 127, weight = #blob.ref<"w" : tensor<2x3x3x2xi8>>, bias = #blob.ref<"b" : tensor<2xi64>>, multiplier = #blob.ref<"m" : tensor<2xi64>>, shift = #blob.ref<"s" : tensor<2xi64>>} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8>
  // CHECK: npu.constant {value = #blob.ref<"c" : tensor<2xi8>>} : !npu.t<2xi8>
  %c = npu.constant {value = #blob.ref<"c" : tensor<2xi8>>} : !npu.t<2xi8>
  // CHECK: npu.add %0, %c {za = 0, zb = 1, ma = 5, mb = -5, s = 3, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<2xi8> -> !npu.t<1x4x4x2xi8>
  %1 = npu.add %0, %c {za = 0, zb = 1, ma = 5, mb = -5, s = 3, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<2xi8> -> !npu.t<1x4x4x2xi8>
  // CHECK: npu.max_pool2d %1 {kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0]} : !npu.t<1x4x4x2xi8> -> !npu.t<1x2x2x2xi8>
  %2 = npu.max_pool2d %1 {kernel = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0]} : !npu.t<1x4x4x2xi8> -> !npu.t<1x2x2x2xi8>
  // CHECK: npu.reshape %2 : !npu.t<1x2x2x2xi8> -> !npu.t<4x2xi8>
  %3 = npu.reshape %2 : !npu.t<1x2x2x2xi8> -> !npu.t<4x2xi8>
  // CHECK: npu.gather %3, %i {axis = 0} : !npu.t<4x2xi8>, !npu.t<3xi32> -> !npu.t<3x2xi8>
  %4 = npu.gather %3, %i {axis = 0} : !npu.t<4x2xi8>, !npu.t<3xi32> -> !npu.t<3x2xi8>
  // CHECK: npu.softmax %4 {k = 5, q = 6, g = 16, z = -128, lo = -128, hi = 127}
  %5 = npu.softmax %4 {k = 5, q = 6, g = 16, z = -128, lo = -128, hi = 127} : !npu.t<3x2xi8> -> !npu.t<3x2xi8>
  // CHECK: npu.mantissa_lut %{{.*}} {function = "sqrt", m = 1, s = 2, z = 0, lo = -128, hi = 127, table = #blob.ref<"t" : tensor<2x257xi64>>}
  %6 = npu.constant {value = #blob.ref<"d" : tensor<3x2xi16>>} : !npu.t<3x2xi16>
  %7 = npu.mantissa_lut %6 {function = "sqrt", m = 1, s = 2, z = 0, lo = -128, hi = 127, table = #blob.ref<"t" : tensor<2x257xi64>>} : !npu.t<3x2xi16> -> !npu.t<3x2xi8>
  // CHECK: npu.concat %5, %7 {axis = 1}
  %8 = npu.concat %5, %7 {axis = 1} : !npu.t<3x2xi8>, !npu.t<3x2xi8> -> !npu.t<3x4xi8>
  // CHECK: npu.return %8 : !npu.t<3x4xi8>
  npu.return %8 : !npu.t<3x4xi8>
}

// CHECK: npu.program @buffers target("aries-rb")
// CHECK-SAME: attributes {code = #blob.ref<"k" : tensor<8xui8>>} {
npu.program @buffers target("aries-rb") mode("single") variant(1) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) attributes {code = #blob.ref<"k" : tensor<8xui8>>} {
  // CHECK: %a = npu.buffer {size = 8, space = "dram", address = 0, input = 0, type = !npu.t<2x4xi8>} : !npu.buffer
  %a = npu.buffer {type = !npu.t<2x4xi8>, size = 8, space = "dram", address = 0, input = 0} : !npu.buffer
  // CHECK: %b = npu.buffer {size = 8, type = !npu.t<4x2xi8>} : !npu.buffer
  %b = npu.buffer {type = !npu.t<4x2xi8>, size = 8} : !npu.buffer
  // CHECK: npu.transpose ins(%a) outs(%b) {permutation = [1, 0], core = 2, order = 3}
  npu.transpose ins(%a) outs(%b) {permutation = [1, 0], core = 2, order = 3}
  // CHECK: %v = npu.view %b {offset = 0, type = !npu.t<8xi8>} : !npu.buffer
  %v = npu.view %b {type = !npu.t<8xi8>, offset = 0} : !npu.buffer
  // CHECK: npu.return %v : !npu.buffer
  npu.return %v : !npu.buffer
}
