// RUN: qbc-opt %s --pass-pipeline='builtin.module(convert-mblt-to-quant)' | filecheck %s

// A repetition is one concatenation up to 64 copies, copies of copies beyond: 130 = 2 * 64 + 2.
// CHECK-LABEL: @few
// CHECK: quant.concat {{.*}} -> tensor<1x6x
// CHECK-NOT: quant.concat
// CHECK-LABEL: @many
// CHECK: quant.concat {{.*}} -> tensor<1x128x
// CHECK-NEXT: quant.concat {{.*}} -> tensor<1x260x
// CHECK-NOT: quant.concat
func.func @few(%x: tensor<1x2xf32>) -> tensor<1x6xf32> {
  %0 = mblt.tile %x {repeats = [1, 3]} : tensor<1x2xf32> -> tensor<1x6xf32>
  func.return %0 : tensor<1x6xf32>
}
func.func @many(%x: tensor<1x2xf32>) -> tensor<1x260xf32> {
  %0 = mblt.tile %x {repeats = [1, 130]} : tensor<1x2xf32> -> tensor<1x260xf32>
  func.return %0 : tensor<1x260xf32>
}
