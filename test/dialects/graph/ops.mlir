// RUN: TLF_ROUNDTRIP

%a, %b, %c = "test.op"() : () -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8x4xf32>)
%h, %g = "test.op"() : () -> (tensor<2x4x8xbf16>, tensor<8x6xbf16>)
%acc = "test.op"() : () -> tensor<2x4x6xf32>
%l1 = "test.op"() : () -> tensor<4x8xf32, #tile.encoding<L1>>

// CHECK: graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
%c0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
// CHECK: graph.constant dense<0> : tensor<4xi32> -> tensor<4xi32, #tile.encoding<L1>>
%c1 = graph.constant dense<0> : tensor<4xi32> -> tensor<4xi32, #tile.encoding<L1>>
// CHECK: graph.constant file "weights.npz" key "w0" sha256 "00ff" : tensor<4x4xbf16>
%c2 = graph.constant file "weights.npz" key "w0" sha256 "00ff" : tensor<4x4xbf16>
// CHECK: graph.constant file "weights.npz" key "w1" : tensor<4xf32>
%c3 = graph.constant file "weights.npz" key "w1" : tensor<4xf32>
// CHECK: graph.constant dense<true> : tensor<4xi1>
%c4 = graph.constant dense<true> : tensor<4xi1>

// CHECK: graph.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
%0 = graph.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: graph.exp %a {test.note = 1 : i32} : tensor<4x8xf32>
%1 = graph.exp %a {test.note = 1 : i32} : tensor<4x8xf32>
// CHECK: graph.tanh %h fastmath<contract,afn> {test.note = 1 : i32} : tensor<2x4x8xbf16>
%f = graph.tanh %h fastmath<contract,afn> {test.note = 1 : i32} : tensor<2x4x8xbf16>
// CHECK: graph.relu %l1 : tensor<4x8xf32, #tile.encoding<L1>>
%2 = graph.relu %l1 : tensor<4x8xf32, #tile.encoding<L1>>
// CHECK: graph.relu %l1 : (tensor<4x8xf32, #tile.encoding<L1>>) -> tensor<4x8xf32>
%3 = graph.relu %l1 : (tensor<4x8xf32, #tile.encoding<L1>>) -> tensor<4x8xf32>
// CHECK: graph.cast %h : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
%4 = graph.cast %h : (tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>

// CHECK: graph.matmul %h, %g : (tensor<2x4x8xbf16>, tensor<8x6xbf16>) -> tensor<2x4x6xbf16>
%5 = graph.matmul %h, %g : (tensor<2x4x8xbf16>, tensor<8x6xbf16>) -> tensor<2x4x6xbf16>
// CHECK: graph.matmul %h, %g init %acc acc f32 : (tensor<2x4x8xbf16>, tensor<8x6xbf16>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
%6 = graph.matmul %h, %g init %acc acc f32 : (tensor<2x4x8xbf16>, tensor<8x6xbf16>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
// CHECK: graph.matmul %a, %c precision "tf32" : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
%7 = graph.matmul %a, %c precision "tf32" : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK: graph.contract %a, %c maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d1, d0)>] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
%8 = graph.contract %a, %c maps [
    affine_map<(m, n, k) -> (m, k)>,
    affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (n, m)>
  ] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

%row, %taps = "test.op"() : () -> (tensor<30xbf16>, tensor<15xbf16>)
// CHECK: graph.linear_contract %row, %taps domain [4, 7, 9] maps [affine_map<(d0, d1, d2) -> (((d0 * 7) + d2))>, affine_map<(d0, d1, d2) -> (((d2 + (d1 * -1)) + 6))>, affine_map<(d0, d1, d2) -> (((d0 * 7) + d1))>] acc f32 : (tensor<30xbf16>, tensor<15xbf16>) -> tensor<28xbf16>
%bands = graph.linear_contract %row, %taps domain [4, 7, 9] maps [
    affine_map<(b, j, u) -> (b * 7 + u)>,
    affine_map<(b, j, u) -> (u - j + 6)>,
    affine_map<(b, j, u) -> (b * 7 + j)>
  ] acc f32 : (tensor<30xbf16>, tensor<15xbf16>) -> tensor<28xbf16>

%image, %filter = "test.op"() : () -> (tensor<1x8x9x9xbf16>, tensor<16x4x3x3xbf16>)
// CHECK: graph.conv2d %image, %filter strides [2, 2] padding [1, 1, 0, 1] dilation [1, 2] groups 2 acc f32 : (tensor<1x8x9x9xbf16>, tensor<16x4x3x3xbf16>) -> tensor<1x16x4x4xbf16>
%conv = graph.conv2d %image, %filter strides [2, 2] padding [1, 1, 0, 1] dilation [1, 2] groups 2 acc f32
  : (tensor<1x8x9x9xbf16>, tensor<16x4x3x3xbf16>) -> tensor<1x16x4x4xbf16>
%volume, %filter3 = "test.op"() : () -> (tensor<1x8x5x9x9xbf16>, tensor<16x4x3x3x3xbf16>)
// CHECK: graph.conv3d %volume, %filter3 strides [1, 2, 2] padding [0, 1, 1, 0, 0, 1] dilation [2, 1, 2] groups 2 acc f32 : (tensor<1x8x5x9x9xbf16>, tensor<16x4x3x3x3xbf16>) -> tensor<1x16x1x4x4xbf16>
%conv3 = graph.conv3d %volume, %filter3 strides [1, 2, 2] padding [0, 1, 1, 0, 0, 1] dilation [2, 1, 2] groups 2 acc f32
  : (tensor<1x8x5x9x9xbf16>, tensor<16x4x3x3x3xbf16>) -> tensor<1x16x1x4x4xbf16>
%filter1 = "test.op"() : () -> tensor<16x8x1x1xbf16>
// CHECK: graph.conv2d %image, %filter1 : (tensor<1x8x9x9xbf16>, tensor<16x8x1x1xbf16>) -> tensor<1x16x9x9xbf16>
%conv1 = graph.conv2d %image, %filter1 : (tensor<1x8x9x9xbf16>, tensor<16x8x1x1xbf16>) -> tensor<1x16x9x9xbf16>

// CHECK: graph.reduce %h <sum> axes [1] keepdims acc f32 : (tensor<2x4x8xbf16>) -> tensor<2x1x8xf32>
%9 = graph.reduce %h <sum> axes [1] keepdims acc f32 : (tensor<2x4x8xbf16>) -> tensor<2x1x8xf32>
// CHECK: graph.reduce %a <max> init %b axes [0] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>
%10 = graph.reduce %a <max> init %b axes [0] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8xf32>

// CHECK: graph.reshape %a : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
%11 = graph.reshape %a : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
// CHECK: graph.transpose %h permutation [0, 2, 1] : (tensor<2x4x8xbf16>) -> tensor<2x8x4xbf16>
%12 = graph.transpose %h permutation [0, 2, 1] : (tensor<2x4x8xbf16>) -> tensor<2x8x4xbf16>
// CHECK: graph.broadcast %b : (tensor<8xf32>) -> tensor<4x8xf32>
%13 = graph.broadcast %b : (tensor<8xf32>) -> tensor<4x8xf32>

// CHECK:      %{{.*}}, %{{.*}} = graph.group ins(%[[X:.*]] = %a, %[[B:.*]] = %b : tensor<4x8xf32>, tensor<8xf32>) plan #graph.plan<L1, tile [2, 8], reduce [4], mapping grid, order [1, 0], stages 2, reduce_stages 3, warps 8, unroll [2, 1]> attributes {test.note} -> (tensor<4x8xf32>, tensor<4xf32>) {
// CHECK-NEXT:   %[[S:.*]] = graph.add %[[X]], %[[B]]
// CHECK-NEXT:   %[[R:.*]] = graph.reduce %[[S]] <sum> axes [1]
// CHECK-NEXT:   graph.yield %[[S]], %[[R]] : tensor<4x8xf32>, tensor<4xf32>
%14, %15 = graph.group ins(%x = %a, %y = %b : tensor<4x8xf32>, tensor<8xf32>) plan #graph.plan<L1, tile [2, 8], reduce [4], mapping grid, order [1, 0], stages 2, reduce_stages 3, warps 8, unroll [2, 1]> attributes {test.note} -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = graph.add %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %r = graph.reduce %s <sum> axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  graph.yield %s, %r : tensor<4x8xf32>, tensor<4xf32>
}
// CHECK: graph.group ins() -> (tensor<4xf32>) {
%16 = graph.group ins() -> (tensor<4xf32>) {
  %z = graph.constant dense<1.0> : tensor<4xf32>
  graph.yield %z : tensor<4xf32>
}

// CHECK: graph.gelu %a <tanh> : tensor<4x8xf32>
%17 = graph.gelu %a <tanh> : tensor<4x8xf32>
// CHECK: graph.dropout %h ratio 1.000000e-01 : tensor<2x4x8xbf16>
%18 = graph.dropout %h ratio 0.1 : tensor<2x4x8xbf16>
// CHECK: graph.softmax %h axis 2 : (tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
%19 = graph.softmax %h axis 2 : (tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
// CHECK: graph.mean %h axes [0, 2] keepdims : (tensor<2x4x8xbf16>) -> tensor<1x4x1xbf16>
%20 = graph.mean %h axes [0, 2] keepdims : (tensor<2x4x8xbf16>) -> tensor<1x4x1xbf16>
// CHECK: graph.layer_norm %h weight %b epsilon 1.000000e-05 : (tensor<2x4x8xbf16>, tensor<8xf32>) -> tensor<2x4x8xbf16>
%21 = graph.layer_norm %h weight %b epsilon 1.0e-5 : (tensor<2x4x8xbf16>, tensor<8xf32>) -> tensor<2x4x8xbf16>
// CHECK: graph.layer_norm %h bias %a last 2 epsilon 1.000000e-05 : (tensor<2x4x8xbf16>, tensor<4x8xf32>) -> tensor<2x4x8xbf16>
%22 = graph.layer_norm %h bias %a last 2 epsilon 0.00001 : (tensor<2x4x8xbf16>, tensor<4x8xf32>) -> tensor<2x4x8xbf16>
// CHECK: graph.batch_norm %a mean %b variance %b bias %b epsilon 1.000000e-03 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
%23 = graph.batch_norm %a mean %b variance %b bias %b epsilon 1.0e-3 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>

%mask = "test.op"() : () -> tensor<4x1xi1>
// CHECK: graph.compare %a, %b <ge> : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
%24 = graph.compare %a, %b <ge> : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
// CHECK: graph.select %mask, %a, %b : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
%25 = graph.select %mask, %a, %b : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: graph.not %mask : tensor<4x1xi1>
%26 = graph.not %mask : tensor<4x1xi1>
// CHECK: graph.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
%27 = graph.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: graph.silu %h : tensor<2x4x8xbf16>
%28 = graph.silu %h : tensor<2x4x8xbf16>
// CHECK: graph.reduce %a <prod> axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
%29 = graph.reduce %a <prod> axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>

%n, %i = "test.op"() : () -> (tensor<4x3xf32>, tensor<3xi32>)
// CHECK: graph.rms_norm %h weight %a last 2 epsilon 1.000000e-05 : (tensor<2x4x8xbf16>, tensor<4x8xf32>) -> tensor<2x4x8xbf16>
%30 = graph.rms_norm %h weight %a last 2 epsilon 1.0e-5 : (tensor<2x4x8xbf16>, tensor<4x8xf32>) -> tensor<2x4x8xbf16>
// CHECK: graph.pad %a low [0, 1] high [2, 0] fill -1.500000e-07 {test.note} : (tensor<4x8xf32>) -> tensor<6x9xf32>
%31 = graph.pad %a low [0, 1] high [2, 0] fill -1.5e-7 {test.note} : (tensor<4x8xf32>) -> tensor<6x9xf32>
// CHECK: graph.pad %h low [0, 0, 0] high [1, 0, 0] fill -inf : (tensor<2x4x8xbf16>) -> tensor<3x4x8xbf16>
%32 = graph.pad %h low [0, 0, 0] high [1, 0, 0] fill -inf : (tensor<2x4x8xbf16>) -> tensor<3x4x8xbf16>
// CHECK: graph.pad %b low [1] high [0] fill nan : (tensor<8xf32>) -> tensor<9xf32>
%33 = graph.pad %b low [1] high [0] fill nan : (tensor<8xf32>) -> tensor<9xf32>
// CHECK: graph.pad %i low [1] high [2] fill -7 : (tensor<3xi32>) -> tensor<6xi32>
%34 = graph.pad %i low [1] high [2] fill -7 : (tensor<3xi32>) -> tensor<6xi32>
// CHECK: graph.pad %mask low [0, 1] high [0, 0] fill true : (tensor<4x1xi1>) -> tensor<4x2xi1>
%35 = graph.pad %mask low [0, 1] high [0, 0] fill true : (tensor<4x1xi1>) -> tensor<4x2xi1>
// CHECK: graph.slice %a offsets [0, 1] strides [1, 2] : (tensor<4x8xf32>) -> tensor<3x4xf32>
%36 = graph.slice %a offsets [0, 1] strides [1, 2] : (tensor<4x8xf32>) -> tensor<3x4xf32>
// CHECK: graph.concat %a, %n, %a axis 1 : (tensor<4x8xf32>, tensor<4x3xf32>, tensor<4x8xf32>) -> tensor<4x19xf32>
%37 = graph.concat %a, %n, %a axis 1 : (tensor<4x8xf32>, tensor<4x3xf32>, tensor<4x8xf32>) -> tensor<4x19xf32>
// CHECK: graph.iota axis 1 : tensor<4x8xi32>
%38 = graph.iota axis 1 : tensor<4x8xi32>
// CHECK: graph.unfold %a map affine_map<(d0, d1, d2) -> (d0, ((d1 * 2) + d2))> fill 0.000000e+00 : (tensor<4x8xf32>) -> tensor<4x3x5xf32>
%39 = graph.unfold %a map affine_map<(n, o, k) -> (n, o * 2 + k)> fill 0.0 : (tensor<4x8xf32>) -> tensor<4x3x5xf32>
// CHECK: graph.max_pool2d %image kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] : (tensor<1x8x9x9xbf16>) -> tensor<1x8x5x5xbf16>
%40 = graph.max_pool2d %image kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1] : (tensor<1x8x9x9xbf16>) -> tensor<1x8x5x5xbf16>
%pooled = "test.op"() : () -> tensor<1x8x4x9xf32>
// CHECK: graph.sum_pool2d %image init %pooled kernel [3, 1] strides [2, 1] dilation [1, 2] acc f32 : (tensor<1x8x9x9xbf16>, tensor<1x8x4x9xf32>) -> tensor<1x8x4x9xf32>
%41 = graph.sum_pool2d %image init %pooled kernel [3, 1] strides [2, 1] dilation [1, 2] acc f32 : (tensor<1x8x9x9xbf16>, tensor<1x8x4x9xf32>) -> tensor<1x8x4x9xf32>
// CHECK: graph.avg_pool2d %image kernel [3, 3] padding [1, 1, 1, 1] exclude_padding : (tensor<1x8x9x9xbf16>) -> tensor<1x8x9x9xbf16>
%42 = graph.avg_pool2d %image kernel [3, 3] padding [1, 1, 1, 1] exclude_padding : (tensor<1x8x9x9xbf16>) -> tensor<1x8x9x9xbf16>
// CHECK: graph.interpolate %image steps [5.000000e-01, 0.33333333333333331] half_pixel : (tensor<1x8x9x9xbf16>) -> tensor<1x8x18x27xbf16>
%interpolated = graph.interpolate %image steps [0.5, 0.3333333333333333] half_pixel : (tensor<1x8x9x9xbf16>) -> tensor<1x8x18x27xbf16>
// CHECK: graph.max_pool3d %volume kernel [2, 3, 3] strides [1, 2, 2] padding [1, 1, 1, 0, 1, 1] : (tensor<1x8x5x9x9xbf16>) -> tensor<1x8x5x5x5xbf16>
%max3 = graph.max_pool3d %volume kernel [2, 3, 3] strides [1, 2, 2] padding [1, 1, 1, 0, 1, 1] : (tensor<1x8x5x9x9xbf16>) -> tensor<1x8x5x5x5xbf16>
// CHECK: graph.avg_pool3d %volume kernel [3, 2, 1] dilation [2, 1, 1] exclude_padding : (tensor<1x8x5x9x9xbf16>) -> tensor<1x8x1x8x9xbf16>
%avg3 = graph.avg_pool3d %volume kernel [3, 2, 1] dilation [2, 1, 1] exclude_padding : (tensor<1x8x5x9x9xbf16>) -> tensor<1x8x1x8x9xbf16>

%j, %m = "test.op"() : () -> (tensor<2x3xi64>, tensor<4x8xi32>)
%places, %updates = "test.op"() : () -> (tensor<3x9xi32>, tensor<3x9xf32>)
// CHECK: graph.log1p %a : tensor<4x8xf32>
%43 = graph.log1p %a : tensor<4x8xf32>
// CHECK: graph.round_tf32 %a : tensor<4x8xf32>
%tf32 = graph.round_tf32 %a : tensor<4x8xf32>
// CHECK: graph.round %h : tensor<2x4x8xbf16>
%44 = graph.round %h : tensor<2x4x8xbf16>
// CHECK: graph.atan2 %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
%45 = graph.atan2 %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: graph.copysign %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
%copysign = graph.copysign %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: graph.rem %m, %m : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
%46 = graph.rem %m, %m : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
// CHECK: graph.take %a, %j axis 1 {test.note} : (tensor<4x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
%47 = graph.take %a, %j axis 1 {test.note} : (tensor<4x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
// CHECK: graph.gather %a, %places axis 1 : (tensor<4x8xf32>, tensor<3x9xi32>) -> tensor<3x9xf32>
%48 = graph.gather %a, %places axis 1 : (tensor<4x8xf32>, tensor<3x9xi32>) -> tensor<3x9xf32>
// CHECK: graph.scatter %a, %places, %updates axis 1 <set> {test.note} : (tensor<4x8xf32>, tensor<3x9xi32>, tensor<3x9xf32>) -> tensor<4x8xf32>
%49 = graph.scatter %a, %places, %updates axis 1 <set> {test.note} : (tensor<4x8xf32>, tensor<3x9xi32>, tensor<3x9xf32>) -> tensor<4x8xf32>
// CHECK: graph.scatter %a, %places, %updates axis 1 <mul> : (tensor<4x8xf32>, tensor<3x9xi32>, tensor<3x9xf32>) -> tensor<4x8xf32>
%50 = graph.scatter %a, %places, %updates axis 1 <mul> : (tensor<4x8xf32>, tensor<3x9xi32>, tensor<3x9xf32>) -> tensor<4x8xf32>
// CHECK: graph.scatter %a, %places, %updates axis 1 <add> combined : (tensor<4x8xf32>, tensor<3x9xi32>, tensor<3x9xf32>) -> tensor<4x8xf32>
%combined = graph.scatter %a, %places, %updates axis 1 <add> combined : (tensor<4x8xf32>, tensor<3x9xi32>, tensor<3x9xf32>) -> tensor<4x8xf32>
// CHECK: graph.cumulate %h <prod> axis 2 : (tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
%51 = graph.cumulate %h <prod> axis 2 : (tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
// CHECK: graph.cumulate %h <max> axis 0 reverse {test.hint} : (tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
%from_end = graph.cumulate %h <max> axis 0 reverse {test.hint} : (tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
// CHECK: graph.arg_reduce %a <max> axis 0 : (tensor<4x8xf32>) -> tensor<8xi64>
%52 = graph.arg_reduce %a <max> axis 0 : (tensor<4x8xf32>) -> tensor<8xi64>
// CHECK: graph.arg_reduce %a <min> axis 1 keepdims : (tensor<4x8xf32>) -> tensor<4x1xi64>
%53 = graph.arg_reduce %a <min> axis 1 keepdims : (tensor<4x8xf32>) -> tensor<4x1xi64>
// CHECK: %{{.*}}, %{{.*}} = graph.sort %a axis 1 : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
%54, %55 = graph.sort %a axis 1 : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi64>)
// CHECK: %{{.*}}, %{{.*}} = graph.sort %h axis 2 descending : (tensor<2x4x8xbf16>) -> (tensor<2x4x3xbf16>, tensor<2x4x3xi64>)
%56, %57 = graph.sort %h axis 2 descending : (tensor<2x4x8xbf16>) -> (tensor<2x4x3xbf16>, tensor<2x4x3xi64>)
// CHECK: graph.within %j low -5 high 4 : tensor<2x3xi64>
%58 = graph.within %j low -5 high 4 : tensor<2x3xi64>
