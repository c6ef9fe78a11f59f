// RUN: qbc-opt %s --split-input-file --pass-pipeline='npu.program(npu-assign-order)' | filecheck %s

// Reducing one large value before the next one is made halves the peak.
// CHECK-LABEL: @reduce_early
// CHECK: npu.expand %x {order = 0}
// CHECK-NEXT: npu.reduce_max %0 {axes = [3], order = 1}
// CHECK-NEXT: npu.expand %x {order = 2}
// CHECK-NEXT: npu.reduce_min %{{.*}} {axes = [3], order = 3}
npu.program @reduce_early(%x: !npu.t<1x64x64x1xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.expand %x : !npu.t<1x64x64x1xi8> -> !npu.t<1x64x64x64xi8>
  %1 = npu.expand %x : !npu.t<1x64x64x1xi8> -> !npu.t<1x64x64x64xi8>
  %2 = npu.reduce_max %0 {axes = [3]} : !npu.t<1x64x64x64xi8> -> !npu.t<1x64x64x1xi8>
  %3 = npu.reduce_min %1 {axes = [3]} : !npu.t<1x64x64x64xi8> -> !npu.t<1x64x64x1xi8>
  %4 = npu.concat %2, %3 {axis = 3} : !npu.t<1x64x64x1xi8>, !npu.t<1x64x64x1xi8> -> !npu.t<1x64x64x2xi8>
  npu.return %4 : !npu.t<1x64x64x2xi8>
}

// -----

// A chain keeps its order.
// CHECK-LABEL: @chain
// CHECK: npu.expand %x {order = 0}
// CHECK-NEXT: npu.reduce_max %0 {axes = [3], order = 1}
npu.program @chain(%x: !npu.t<1x64x64x1xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.expand %x : !npu.t<1x64x64x1xi8> -> !npu.t<1x64x64x64xi8>
  %1 = npu.reduce_max %0 {axes = [3]} : !npu.t<1x64x64x64xi8> -> !npu.t<1x64x64x1xi8>
  npu.return %1 : !npu.t<1x64x64x1xi8>
}
