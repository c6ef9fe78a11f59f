// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-legalize)' 2>&1 | filecheck %s

// All violations of all rules are listed.
// CHECK: error[UNSUPPORTED_OP]: aries-rb cannot run 2 of the operations:
// CHECK-NEXT: Arithmetic works on i8 and i16 codes; 32-bit integers serve as gather indices and may only be moved.
// CHECK-NEXT: sum (npu.equal): it computes with i32
// CHECK-NEXT: Dilations are at most `limits.dilation`.
// CHECK-NEXT: pool (npu.max_pool2d): found 17, the limit is 16
npu.program @main(%x: !npu.t<1x4x4x2xi8>, %i: !npu.t<1x4x4x2xi32>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>, #npu.host<"i", i32, 1.0 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.equal %i, %i : !npu.t<1x4x4x2xi32>, !npu.t<1x4x4x2xi32> -> !npu.t<1x4x4x2xi8> loc("sum")
  %1 = npu.max_pool2d %0 {kernel = [2, 2], strides = [2, 2], padding = [17, 0, 17, 0], dilations = [17, 1]} : !npu.t<1x4x4x2xi8> -> !npu.t<1x11x2x2xi8> loc("pool")
  npu.return %1 : !npu.t<1x11x2x2xi8>
}
