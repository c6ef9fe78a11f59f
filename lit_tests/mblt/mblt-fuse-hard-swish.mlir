// RUN: qbc-opt %s --no-locations --split-input-file --pass-pipeline='builtin.module(func.func(mblt-fuse-hard-swish))' | filecheck %s

// CHECK-LABEL: func.func @hard_swish
// CHECK-NEXT: mblt.hard_swish %x : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: func.return
func.func @hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = mblt.constant {value = #blob.inline<"00004040" : tensor<1xf32>>} : tensor<1xf32>
  %six = mblt.constant {value = #blob.inline<"0000c040" : tensor<1xf32>>} : tensor<1xf32>
  %0 = mblt.add %x, %three : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = mblt.clip %0 {min = 0.0, max = 6.0} : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mblt.div %2, %six : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @hard_sigmoid
// CHECK-NEXT: mblt.hard_sigmoid %x {{.*}} : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: func.return
func.func @hard_sigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = mblt.constant {value = #blob.inline<"00004040" : tensor<1xf32>>} : tensor<1xf32>
  %six = mblt.constant {value = #blob.inline<"0000c040" : tensor<1xf32>>} : tensor<1xf32>
  %0 = mblt.add %x, %three : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = mblt.clip %0 {min = 0.0, max = 6.0} : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.div %1, %six : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// The divisor is not the height of the clip.
// CHECK-LABEL: func.func @other_height
// CHECK-NOT: mblt.hard_
// CHECK: mblt.div
func.func @other_height(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = mblt.constant {value = #blob.inline<"00004040" : tensor<1xf32>>} : tensor<1xf32>
  %six = mblt.constant {value = #blob.inline<"0000c040" : tensor<1xf32>>} : tensor<1xf32>
  %0 = mblt.add %x, %three : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = mblt.clip %0 {min = 0.0, max = 5.0} : tensor<4xf32> -> tensor<4xf32>
  %2 = mblt.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mblt.div %2, %six : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
