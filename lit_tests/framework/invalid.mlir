// RUN: qbc-opt %s --split-input-file --verify-diagnostics

func.func @missing_attribute(%x: tensor<4xf32>) -> tensor<4xf64> {
  // expected-error@+1 {{requires attribute 'to'}}
  %0 = framework.Cast(%x) : (tensor<4xf32>) -> tensor<4xf64>
  func.return %0 : tensor<4xf64>
}

// -----

func.func @attribute_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'alpha' is not of kind FLOAT}}
  %0 = framework.LeakyRelu(%x) {alpha = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{alpha}}
  %0 = framework.Relu(%x) {alpha = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @missing_operand(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{Expected 2 operand}}
  %0 = framework.Add(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @constant_type() -> tensor<2xi64> {
  // expected-error@+1 {{value has type tensor<1xi64>, the result has type tensor<2xi64>}}
  %0 = "framework.Constant"() <{value = dense<[1]> : tensor<1xi64>}> : () -> tensor<2xi64>
  func.return %0 : tensor<2xi64>
}

// -----

func.func @type_not_taken(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{operand 'X' has type tensor(int32), which the operator does not take}}
  %0 = framework.Softplus(%x) : (tensor<4xi32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

func.func @types_differ(%x: tensor<4xf32>, %y: tensor<4xf64>) -> tensor<4xf32> {
  // expected-error@+1 {{operand 'B' has type tensor(double), operand 'A' has type tensor(float): they must be the same}}
  %0 = framework.Add(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @result_type(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{result 'C' has type tensor(float), which the operator does not take}}
  %0 = framework.Less(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @sequences(%x: !framework.sequence<tensor<4xf32>>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{operand 'input' has type seq(tensor(float)), which the operator does not take}}
  %0 = framework.Erf(%x) : (!framework.sequence<tensor<4xf32>>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @shape(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x9x8xf32> {
  // expected-error@+1 {{result has shape 1x3x9x8, its operands give 1x3x8x8}}
  %0 = framework.Relu(%x) : (tensor<1x3x8x8xf32>) -> tensor<1x3x9x8xf32>
  func.return %0 : tensor<1x3x9x8xf32>
}

// -----

func.func @rank(%x: tensor<4xf32>, %y: tensor<3x1xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{result has shape 4, its operands give 3x4}}
  %0 = framework.Add(%x, %y) : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @broadcast(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{sizes [4, 3] of axis 0 do not broadcast}}
  %0 = framework.Add(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<5x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  // expected-error@+1 {{result has shape 1x4x8x8, its operands give 1x5x8x8}}
  %0 = framework.Conv(%x, %w) : (tensor<1x3x8x8xf32>, tensor<5x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  func.return %0 : tensor<1x4x8x8xf32>
}

// -----

func.func @windows(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
  // expected-error@+1 {{result has shape 1x3x8x8, its operands give 1x3x4x4}}
  %0 = framework.MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return %0 : tensor<1x3x8x8xf32>
}

// -----

func.func @constant_axes(%x: tensor<4x3xf32>) -> tensor<4x1xf32> {
  %0 = framework.Constant dense<[0]> : tensor<1xi64>
  // expected-error@+1 {{result has shape 4x1, its operands give 1x3}}
  %1 = framework.ReduceSum(%x, %0) {keepdims = 1 : i64} : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  func.return %1 : tensor<4x1xf32>
}
