// RUN: qbc-opt %s --split-input-file | filecheck %s

// CHECK: func.func @first
// CHECK: // -----
// CHECK: func.func @second
func.func @first() {
  func.return
}
// -----
func.func @second() {
  func.return
}
