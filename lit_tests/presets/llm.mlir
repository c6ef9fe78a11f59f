// The feature does not exist yet: the preset is refused by name.
// RUN: not qbcompiler compile --print-pipeline --config-preset llm 2>&1 | filecheck %s
// CHECK: ERROR [UNSUPPORTED_FEATURE]: not available in this version: llm.apply{{.*}}equivalentTransformation.QK.apply
