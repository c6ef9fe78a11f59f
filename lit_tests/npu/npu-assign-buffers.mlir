// RUN: qbc-opt %s --pass-pipeline='npu.program(npu-assign-buffers)' | filecheck %s

// CHECK: npu.program @main target("aries-rb")
// CHECK-NEXT: %x = npu.buffer {size = 32, input = 0, type = !npu.t<1x4x4x2xi8>} : !npu.buffer
// CHECK-NEXT: %c = npu.constant {value = #blob.ref<"c" : tensor<2xi8>>} : !npu.buffer
// CHECK-NEXT: %[[B:.*]] = npu.buffer {size = 32, type = !npu.t<1x4x4x2xi8>} : !npu.buffer loc("sum")
// CHECK-NEXT: npu.add ins(%x, %c) outs(%[[B]]) {{.*}} loc("sum")
// CHECK-NEXT: %[[V:.*]] = npu.view %[[B]] {offset = 0, type = !npu.t<1x32xi8>} : !npu.buffer loc("flat")
// CHECK-NEXT: npu.return %[[V]] : !npu.buffer
npu.program @main(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %c = npu.constant {value = #blob.ref<"c" : tensor<2xi8>>} : !npu.t<2xi8>
  %0 = npu.add %x, %c {za = 3, zb = 4, ma = 5, mb = 6, s = 7, z = 1, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8>, !npu.t<2xi8> -> !npu.t<1x4x4x2xi8> loc("sum")
  %1 = npu.reshape %0 : !npu.t<1x4x4x2xi8> -> !npu.t<1x32xi8> loc("flat")
  npu.return %1 : !npu.t<1x32xi8>
}
