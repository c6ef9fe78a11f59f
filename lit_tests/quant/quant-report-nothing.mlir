// RUN: qbc-opt %s --use-random-calib --pass-pipeline='builtin.module(quant-report)' 2>&1 | filecheck %s

// A graph that computes nothing has no layers to report.
// CHECK: no accuracy report: the graph computes nothing
// CHECK: func.return
func.func @main() {
  func.return
}
