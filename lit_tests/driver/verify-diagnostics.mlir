// RUN: qbc-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<1x3xf32>) -> tensor<1x4xf32> {
  // expected-error@+1 {{same types as the function output types}}
  func.return %x : tensor<1x3xf32>
}

// -----

func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  func.return %x : tensor<1x3xf16> // expected-error {{previously used or defined with type}}
}
