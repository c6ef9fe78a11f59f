// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-uint8-inputs{inputs=x division-factor=127.0}))' | filecheck %s

// Other inputs stay.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %x: tensor<1x2xf32> {mblt.name = "x", mblt.division_factor = 1.270000e+02 : f64}
// CHECK-SAME: %z: tensor<1x2xf32> {mblt.name = "z"}
func.func @main(%x: tensor<1x2xf32> {mblt.name = "x"}, %z: tensor<1x2xf32> {mblt.name = "z"}) -> tensor<1x2xf32> {
  %0 = mblt.add %x, %z : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %0 : tensor<1x2xf32>
}
