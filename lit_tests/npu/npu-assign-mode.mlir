// RUN: qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode)' | filecheck %s
// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode{mode=global8})' 2>&1 | filecheck %s --check-prefix=LATER
// RUN: not qbc-opt %s --target-device regulus-ra --pass-pipeline='npu.program(npu-assign-mode{mode=multi})' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode{mode=fast})' 2>&1 | filecheck %s --check-prefix=NAME

// CHECK: npu.program @main{{.*}} mode("single")
// LATER: error[UNSUPPORTED_FEATURE]: core mode 'global8' is not available in this version
// TARGET: error[TARGET_ERROR]: regulus-ra has no core mode 'multi'
// NAME: error[ARGUMENT_ERROR]: unknown core mode 'fast'
npu.program @main(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  npu.return %x : !npu.t<1x4x4x2xi8>
}
