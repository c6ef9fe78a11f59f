// RUN: qbc-opt %s --target-device aries-rb --pass-pipeline='mblt-check-target' | filecheck %s --check-prefix=ARIES
// RUN: not qbc-opt %s --target-device regulus-ra --pass-pipeline='mblt-check-target' 2>&1 | filecheck %s --check-prefix=REGULUS
// RUN: qbc-opt %s --pass-pipeline='mblt-check-target' | filecheck %s --check-prefix=ARIES

// The same graph is legal where the target has the multi-function unit, and nothing is checked without a target.
// ARIES: mblt.softmax
// ARIES: mblt.div
// ARIES: mblt.layer_norm

// A division by a constant becomes a multiplication, and a sigmoid a table of bytes.
// REGULUS: error[UNSUPPORTED_OP]: regulus-ra cannot run 3 of the operations:
// REGULUS-NEXT: Softmax, normalization, division and 16-bit tables need the multi-function unit, which this target lacks.
// REGULUS-NEXT: attention (mblt.softmax)
// REGULUS-NEXT: ratio (mblt.div)
// REGULUS-NEXT: norm (mblt.layer_norm) {{.*}}choose a device that runs them: aries-rb
// REGULUS-NEXT: at "attention"
func.func @main(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = mblt.softmax %x {axis = 1, beta = 1.0 : f32} : tensor<1x4xf32> -> tensor<1x4xf32> loc("attention")
  %1 = mblt.div %0, %y : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32> loc("ratio")
  %2 = mblt.constant {value = dense<2.0> : tensor<1x1xf32>} : tensor<1x1xf32>
  %3 = mblt.div %1, %2 : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32> loc("half")
  %4 = mblt.sigmoid %3 : tensor<1x4xf32> -> tensor<1x4xf32> loc("gate")
  %5 = mblt.layer_norm %4 {normalized_rank = 1, epsilon = 1.0e-05 : f32} : tensor<1x4xf32> -> tensor<1x4xf32> loc("norm")
  func.return %5 : tensor<1x4xf32>
}
