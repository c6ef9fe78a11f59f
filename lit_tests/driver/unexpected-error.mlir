// RUN: not qbc-opt %s --verify-diagnostics 2>&1 | filecheck %s

// An error that no comment expects fails the run, and so does a comment that no error meets.
// CHECK: line 9: unexpected error[VERIFY_ERROR]
// CHECK: expected error "something else" was not produced

func.func @main(%x: tensor<1x3xf32>) -> tensor<1x4xf32> {
  // expected-error@+1 {{something else}}
  func.return %x : tensor<1x3xf32>
}
