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
