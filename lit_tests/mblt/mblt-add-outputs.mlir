// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(mblt-add-outputs{layers=a,"c*"}))' | filecheck %s
// RUN: qbc-opt %s --no-locations --pass-pipeline='builtin.module(func.func(mblt-add-outputs))' | filecheck %s --check-prefix=SAME
// RUN: not qbc-opt %s --pass-pipeline='builtin.module(func.func(mblt-add-outputs{layers=aa}))' 2>&1 | filecheck %s --check-prefix=WRONG

// The last layer is an output already.
// CHECK: func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}, tensor<1x4xf32> {mblt.name = "a"})
// CHECK: [[A:%.*]] = mblt.relu %x
// CHECK: func.return {{%.*}}, [[A]] : tensor<1x4xf32>, tensor<1x4xf32>
// SAME: func.return {{%[^,]*}} : tensor<1x4xf32>
// WRONG: error[ARGUMENT_ERROR]: layers: 'aa' is the name of no layer (Nearest names: a.)
func.func @main(%x: tensor<1x4xf32> {mblt.name = "x"}) -> (tensor<1x4xf32> {mblt.name = "y"}) {
  %0 = mblt.relu %x : tensor<1x4xf32> -> tensor<1x4xf32> loc("a")
  %1 = mblt.exp %0 : tensor<1x4xf32> -> tensor<1x4xf32> loc("b")
  %2 = mblt.tanh %1 : tensor<1x4xf32> -> tensor<1x4xf32> loc("c")
  func.return %2 : tensor<1x4xf32>
}
