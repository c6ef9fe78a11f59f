// RUN: not qbc-opt %s --pass-pipeline='cse,canonicalise' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not qbc-opt %s --pass-pipeline='fnc.func(cse)' 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not qbc-opt %s --pass-pipeline='cse{x=}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not qbc-opt %s --pass-pipeline='cse{depth=1}' 2>&1 | filecheck %s --check-prefix=OPTION

// NAME: error[PIPELINE_ERROR]: unknown pass 'canonicalise' (did you mean 'canonicalize'?)
// ANCHOR: error[PIPELINE_ERROR]: unknown anchor 'fnc.func' at column 1 (did you mean 'func.func'?)
// ANCHOR-NEXT: fnc.func(cse)
// ANCHOR-NEXT: ^
// VALUE: expected a value, found '}' at column 7
// OPTION: pass 'cse' has no option 'depth'
func.func @main() {
  func.return
}
