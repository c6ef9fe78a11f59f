// RUN: qbc-opt %s --target-device aries-rb --pass-pipeline='npu.program(npu-legalize)' 2>&1 | filecheck %s --check-prefix=ARIES
// RUN: not qbc-opt %s --target-device regulus-ra --pass-pipeline='npu.program(npu-legalize)' 2>&1 | filecheck %s --check-prefix=REGULUS

// The same program is legal where the target has the multi-function unit.
// ARIES: npu.softmax
// REGULUS: error[UNSUPPORTED_OP]: regulus-ra cannot run 2 of the operations:
// REGULUS-NEXT: Softmax, normalization, division and 16-bit tables need the multi-function unit, which this target lacks.
// REGULUS-NEXT: attention (npu.softmax)
// REGULUS-NEXT: second (npu.softmax)
// REGULUS-NEXT: at "attention"
// REGULUS-NEXT: op: %{{[0-9]+}} = npu.softmax
// REGULUS-NOT: cpu_offload
npu.program @main(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  %0 = npu.softmax %x {k = 5, q = 6, g = 16, z = -128, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8> loc("attention")
  %1 = npu.softmax %0 {k = 5, q = 6, g = 16, z = -128, lo = -128, hi = 127} : !npu.t<1x4x4x2xi8> -> !npu.t<1x4x4x2xi8> loc("second")
  npu.return %1 : !npu.t<1x4x4x2xi8>
}
