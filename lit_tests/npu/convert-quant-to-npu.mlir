// RUN: qbc-opt %s --pass-pipeline='convert-quant-to-npu' | filecheck %s

// CHECK: npu.program @main(%x: !npu.t<1x4xi8>) target("aries-rb") mode("single") variant(0)
// CHECK-SAME: inputs(#npu.host<"image", f32, 5.000000e-01 : 3>) outputs(#npu.host<"logits", f32, 1.000000e+00 : 3>) {
// CHECK-NEXT: npu.requantize %x {zx = 3, m = 1073741824, s = 31, z = 3, lo = -128, hi = 127} : !npu.t<1x4xi8> -> !npu.t<1x4xi8> loc("scale")
// CHECK-NEXT: npu.return
// CHECK-NOT: quant.
func.func @main(%x: tensor<1x4xf32> {mblt.name = "image"}) -> (tensor<1x4xf32> {mblt.name = "logits"}) {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<i8, 0.5 : 3>>
  %1 = quant.requantize %0 {zx = 3, m = 1073741824, s = 31, z = 3, lo = -128, hi = 127} : tensor<1x4x!quant.q<i8, 0.5 : 3>> -> tensor<1x4x!quant.q<i8, 1.0 : 3>> loc("scale")
  %2 = quant.dequantize %1 : tensor<1x4x!quant.q<i8, 1.0 : 3>> -> tensor<1x4xf32>
  func.return %2 : tensor<1x4xf32>
}
