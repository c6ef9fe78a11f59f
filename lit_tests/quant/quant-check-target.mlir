// RUN: qbc-opt %s --target-device regulus-ra --pass-pipeline='quant-assign-bits,quant-check-target' | filecheck %s --check-prefix=BYTES
// RUN: qbc-opt %s --target-device aries-rb --pass-pipeline='quant-assign-bits{preset=w8a16},quant-check-target' | filecheck %s --check-prefix=BYTES
// RUN: qbc-opt %s --pass-pipeline='quant-assign-bits{preset=w8a16},quant-check-target' | filecheck %s --check-prefix=BYTES
// RUN: not qbc-opt %s --target-device regulus-ra --pass-pipeline='quant-assign-bits{preset=w8a16},quant-check-target' 2>&1 | filecheck %s --check-prefix=WIDE

// A table of bytes needs no unit; one of 16-bit values is legal where the target has the unit.
// BYTES: quant.lut
// WIDE: error[UNSUPPORTED_OP]: regulus-ra cannot run 1 of the operations:
// WIDE-NEXT: Softmax, normalization, division and 16-bit tables need the multi-function unit, which this target lacks.
// WIDE-NEXT: squash (quant.lut)
quant.params "r0"
quant.params "r1"
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = quant.quantize %x : tensor<1x4xf32> -> tensor<1x4x!quant.q<"r0">>
  %1 = quant.lut %0 {function = "tanh"} : tensor<1x4x!quant.q<"r0">> -> tensor<1x4x!quant.q<"r1">> loc("squash")
  %2 = quant.dequantize %1 : tensor<1x4x!quant.q<"r1">> -> tensor<1x4xf32>
  func.return %2 : tensor<1x4xf32>
}
