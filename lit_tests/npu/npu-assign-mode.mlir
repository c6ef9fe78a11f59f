// RUN: qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode)' | filecheck %s
// RUN: qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode{mode=global8})' | filecheck %s --check-prefix=GLOBAL
// RUN: qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode{mode=all})' | filecheck %s --check-prefix=ALL
// RUN: qbc-opt %s --target-device regulus-ra --pass-pipeline='npu.program(npu-assign-mode{mode=all})' | filecheck %s --check-prefix=ONE
// RUN: not qbc-opt %s --target-device regulus-ra --pass-pipeline='npu.program(npu-assign-mode{mode=multi})' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not qbc-opt %s --pass-pipeline='npu.program(npu-assign-mode{mode=fast})' 2>&1 | filecheck %s --check-prefix=NAME

// CHECK: npu.program @main({{.*}} mode("single")
// CHECK-NOT: npu.program
// GLOBAL: npu.program @main({{.*}} mode("global8")
// GLOBAL-NOT: npu.program
// ALL: npu.program @main({{.*}} mode("single")
// ALL: npu.program @main_multi({{.*}} mode("multi")
// ALL: npu.program @main_global4({{.*}} mode("global4")
// ALL: npu.program @main_global8({{.*}} mode("global8")
// ONE: npu.program @main({{.*}} mode("single")
// ONE-NOT: npu.program
// TARGET: error[TARGET_ERROR]: regulus-ra has no core mode 'multi'
// NAME: error[PIPELINE_ERROR]: pass 'npu-assign-mode': mode is 'fast', it must be one of single,
npu.program @main(%x: !npu.t<1x4x4x2xi8>) target("aries-rb") mode("single") variant(0) inputs(#npu.host<"x", f32, 0.5 : 0>) outputs(#npu.host<"y", f32, 0.25 : 0>) {
  npu.return %x : !npu.t<1x4x4x2xi8>
}
