// RUN: qbc-opt %s --no-locations | filecheck %s
// RUN: qbc-opt %s | qbc-opt --no-locations | filecheck %s
// RUN: qbc-opt %s --print-op-generic | qbc-opt --no-locations | filecheck %s

// CHECK: builtin.module attributes {framework.opset = 25 : i64}
module attributes {framework.opset = 25 : i64} {
  // CHECK: func.func @main(%image: tensor<1x3x?x32xf32> {framework.name = "image", framework.dims = ["1", "3", "H", "32"]}
  func.func @main(%image: tensor<1x3x?x32xf32> {framework.name = "image", framework.dims = ["1", "3", "H", "32"]}, %flag: tensor<i1>) -> tensor<1x16x?x32xf32> {
    // CHECK: %w = framework.Constant #blob.inline<"00000000000000000000000000000000
    %w = framework.Constant #blob.inline<"000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000" : tensor<16x3x1x1xf32>>
    // CHECK-NEXT: %s = framework.Constant dense<[1, -1]> : tensor<2xi64>
    %s = framework.Constant dense<[1, -1]> : tensor<2xi64>
    // CHECK-NEXT: %0 = framework.Conv(%image, %w) {kernel_shape = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x3x?x32xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x?x32xf32>
    %0 = framework.Conv(%image, %w) {kernel_shape = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x3x?x32xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x?x32xf32> loc("/features/0/Conv")
    // An absent optional operand in the middle is written, one at the end is not.
    // CHECK-NEXT: %1 = framework.Resize(%0, none, %w) {mode = "linear"} : (tensor<1x16x?x32xf32>, tensor<16x3x1x1xf32>) -> tensor<*xf32>
    %1 = framework.Resize(%0, none, %w) {mode = "linear"} : (tensor<1x16x?x32xf32>, tensor<16x3x1x1xf32>) -> tensor<*xf32>
    // CHECK-NEXT: %h, %c = framework.LSTM(%1, %w, %w) {hidden_size = 4 : i64} : (tensor<*xf32>, tensor<16x3x1x1xf32>, tensor<16x3x1x1xf32>) -> (none, tensor<*xf32>, tensor<*xf32>)
    %h, %c = framework.LSTM(%1, %w, %w) {hidden_size = 4 : i64} : (tensor<*xf32>, tensor<16x3x1x1xf32>, tensor<16x3x1x1xf32>) -> (none, tensor<*xf32>, tensor<*xf32>)
    // CHECK-NEXT: %2 = framework.If(%flag) ({
    // CHECK-NEXT:   framework.yield %0 : tensor<1x16x?x32xf32>
    // CHECK-NEXT: }, {
    // CHECK-NEXT:   %3 = framework.Relu(%0) : (tensor<1x16x?x32xf32>) -> tensor<1x16x?x32xf32>
    // CHECK-NEXT:   framework.yield %3 : tensor<1x16x?x32xf32>
    // CHECK-NEXT: }) : (tensor<i1>) -> tensor<1x16x?x32xf32>
    %2 = framework.If(%flag) ({
      framework.yield %0 : tensor<1x16x?x32xf32>
    }, {
      %3 = framework.Relu(%0) : (tensor<1x16x?x32xf32>) -> tensor<1x16x?x32xf32>
      framework.yield %3 : tensor<1x16x?x32xf32>
    }) : (tensor<i1>) -> tensor<1x16x?x32xf32>
    // CHECK-NEXT: %4 = "framework.opaque"(%2) <{op_type = "Magic", domain = "com.example", onnx_attributes = {level = 3 : i64}}> : (tensor<1x16x?x32xf32>) -> !framework.unknown
    %4 = "framework.opaque"(%2) <{op_type = "Magic", domain = "com.example", onnx_attributes = {level = 3 : i64}}> : (tensor<1x16x?x32xf32>) -> !framework.unknown
    // CHECK-NEXT: %5 = framework.SequenceConstruct(%2, %2) : (tensor<1x16x?x32xf32>, tensor<1x16x?x32xf32>) -> !framework.sequence<tensor<1x16x?x32xf32>>
    %5 = framework.SequenceConstruct(%2, %2) : (tensor<1x16x?x32xf32>, tensor<1x16x?x32xf32>) -> !framework.sequence<tensor<1x16x?x32xf32>>
    func.return %2 : tensor<1x16x?x32xf32>
  }
}
