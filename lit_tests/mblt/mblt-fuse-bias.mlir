// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-bias))' | filecheck %s

// A constant that is added to a layer becomes its bias; the activation moves along.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT: mblt.linear %x {{.*}}bias = #blob.ref<"{{[0-9a-f]+}}" : tensor<2xf32>>{{.*}}activation = "relu"
// CHECK-NEXT: func.return
func.func @bias(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
  %c = mblt.constant {value = #blob.inline<"0000803f00000040" : tensor<1x2xf32>>} : tensor<1x2xf32>
  %0 = mblt.linear %x {weight = #blob.inline<"0000803f00000040" : tensor<2x1xf32>>} : tensor<3x1xf32> -> tensor<3x2xf32>
  %1 = mblt.add %0, %c {activation = "relu"} : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// -----

// A constant that varies along another axis than the last one stays.
// CHECK-LABEL: func.func @rows
// CHECK: mblt.linear
// CHECK: mblt.add
func.func @rows(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %c = mblt.constant {value = #blob.inline<"0000803f00000040" : tensor<2x1xf32>>} : tensor<2x1xf32>
  %0 = mblt.linear %x {weight = #blob.inline<"0000803f00000040" : tensor<2x1xf32>>} : tensor<2x1xf32> -> tensor<2x2xf32>
  %1 = mblt.add %0, %c : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
