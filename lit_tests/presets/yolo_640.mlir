// RUN: qbcompiler compile --print-pipeline --config-preset yolo_640 | filecheck %s
// CHECK: builtin.module(func.func(framework-fold-shapes
// CHECK-SAME: convert-framework-to-mblt
// CHECK-SAME: mblt-uint8-inputs{inputs=[] division-factor=255.0})
// CHECK-SAME: mblt-check-target,convert-mblt-to-quant{method=3}
// CHECK-SAME: quant-assign-bits{preset=w8a8 activation16=[]},quant-check-target,quant-collect{samples=0 topk-ratio=0.01}
// CHECK-SAME: quant-assign-ranges{mode=1 percentile=0.9999
// CHECK-SAME: quant-promote-16{
// CHECK-SAME: quant-bias-correction{target=weight layers=[] exclude=[]}
// CHECK-SAME: npu-assign-mode{mode=single}
// CHECK-SAME: npu-verify-plan,npu-emit))
