// RUN: qbc-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{scale (or scales) and zero_point are set together}}
quant.params "r" {storage = i8, scale = 1.0 : f32}

// -----

// expected-error@+1 {{a row has one scale or scales of channels, not both}}
quant.params "r" {storage = i8, scale = 1.0 : f32, scales = #blob.ref<"s" : tensor<4xf32>>, zero_point = 0}

// -----

// expected-error@+1 {{scales are a list of f32, not tensor<4x1xf32>}}
quant.params "r" {storage = i8, scales = #blob.ref<"s" : tensor<4x1xf32>>, zero_point = 0}

// -----

// expected-error@+1 {{a row with a scale has a storage}}
quant.params "r" {scale = 1.0 : f32, zero_point = 0}

// -----

// expected-error@+1 {{zero point 200 is outside the codes of i8, -128..127}}
quant.params "r" {storage = i8, scale = 1.0 : f32, zero_point = 200}

// -----

// expected-error@+1 {{i16 encodings have zero point 0, not 1}}
quant.params "r" {storage = i16, scale = 1.0 : f32, zero_point = 1}

// -----

// expected-error@+1 {{storage is i8 or i16, not i4}}
quant.params "r" {storage = i4, scale = 1.0 : f32, zero_point = 0}

// -----

quant.params "r"
func.func @main(%x: tensor<1x4x4x2x!quant.q<"r">>) -> tensor<1x4x4x2x!quant.q<"r">> {
  // expected-error@+1 {{weight takes 3 channels, the input has 2}}
  %0 = quant.conv2d %x {weight = #blob.ref<"w" : tensor<2x1x1x3xf32>>, strides = [1, 1], padding = [0, 0, 0, 0], dilations = [1, 1], groups = 1} : tensor<1x4x4x2x!quant.q<"r">> -> tensor<1x4x4x2x!quant.q<"r">>
  func.return %0 : tensor<1x4x4x2x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<1x4x!quant.q<"r">>) -> tensor<1x3x!quant.q<"r">> {
  // expected-error@+1 {{bias has shape [4], expected [3]}}
  %0 = quant.linear %x {weight = #blob.ref<"w" : tensor<3x4xf32>>, bias = #blob.ref<"b" : tensor<4xf32>>} : tensor<1x4x!quant.q<"r">> -> tensor<1x3x!quant.q<"r">>
  func.return %0 : tensor<1x3x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<1x4x!quant.q<"r">>) -> tensor<1x4x!quant.q<"r">> {
  // expected-error@+1 {{activation "clip" needs activation_min or activation_max}}
  %0 = quant.requantize %x {activation = "clip"} : tensor<1x4x!quant.q<"r">> -> tensor<1x4x!quant.q<"r">>
  func.return %0 : tensor<1x4x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<1x4x!quant.q<"r">>) -> tensor<1x4x!quant.q<"r">> {
  // expected-error@+1 {{function 'cube' is unknown}}
  %0 = quant.lut %x {function = "cube"} : tensor<1x4x!quant.q<"r">> -> tensor<1x4x!quant.q<"r">>
  func.return %0 : tensor<1x4x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">> {
  // expected-error@+1 {{axis is the last axis}}
  %0 = quant.softmax %x {axis = 0} : tensor<2x4x!quant.q<"r">> -> tensor<2x4x!quant.q<"r">>
  func.return %0 : tensor<2x4x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{goes from float to a quantized type}}
  %0 = quant.quantize %x : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

quant.params "r"
func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x3x!quant.q<"r">> {
  // expected-error@+1 {{the number of elements changes}}
  %0 = quant.reshape %x : tensor<2x4x!quant.q<"r">> -> tensor<2x3x!quant.q<"r">>
  func.return %0 : tensor<2x3x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">> {
  // expected-error@+1 {{the condition is a mask of i1}}
  %0 = quant.where %x, %x, %x : (tensor<2x4x!quant.q<"r">>, tensor<2x4x!quant.q<"r">>, tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">>
  func.return %0 : tensor<2x4x!quant.q<"r">>
}

// -----

quant.params "r"
// expected-error@+1 {{defines row 'unused', which no value names}}
quant.params "unused"
func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">> {
  func.return %x : tensor<2x4x!quant.q<"r">>
}

// -----

quant.params "r"
func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r7">> {
  // expected-error@+1 {{has a value of row 'r7', which does not exist}}
  %0 = quant.requantize %x : tensor<2x4x!quant.q<"r">> -> tensor<2x4x!quant.q<"r7">>
  func.return %0 : tensor<2x4x!quant.q<"r7">>
}

// -----

// expected-error@+1 {{has a value of row 'r7', which does not exist}}
func.func @main(%x: tensor<2x4x!quant.q<"r7">>) -> tensor<2x4x!quant.q<"r7">> {
  func.return %x : tensor<2x4x!quant.q<"r7">>
}

// -----

// expected-error@+1 {{has a value of row 'r7', which does not exist}}
func.func @main(%x: tensor<2x4x!quant.q<i8, "r7">>) -> tensor<2x4x!quant.q<i8, "r7">> {
  func.return %x : tensor<2x4x!quant.q<i8, "r7">>
}

// -----

quant.params "r"
// expected-error@+1 {{defines row 'r' a second time}}
quant.params "r"
func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">> {
  func.return %x : tensor<2x4x!quant.q<"r">>
}

// -----

func.func @main(%x: tensor<2x4x!quant.q<"r">>) -> tensor<2x4x!quant.q<"r">> {
  // expected-error@+1 {{is not at the level of the module, where rows stand}}
  quant.params "r"
  func.return %x : tensor<2x4x!quant.q<"r">>
}
