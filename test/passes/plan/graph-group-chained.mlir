// RUN: tlf-opt %s --target h200 -p "graph-group,graph-select-tile-sizes" | filecheck %s

// The loop over the long reduction ends before the short one, which needs no loop.
// CHECK-LABEL: func.func @chain
// CHECK:         graph.group ins({{.*}}) plan #graph.plan<L1, tile [{{.*}}, 256], reduce [{{.*}}], {{.*}}> -> (tensor<262144x256xf16>) {
// CHECK:           graph.contract
// CHECK:           graph.contract
// CHECK:           graph.yield
// CHECK-NOT:     graph.group
func.func @chain(%x: tensor<262144x576xf16>, %w: tensor<576x64xf16>, %v: tensor<64x256xf16>) -> tensor<262144x256xf16> {
  %0 = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      acc f32 : (tensor<262144x576xf16>, tensor<576x64xf16>) -> tensor<262144x64xf16>
  %1 = graph.relu %0 : tensor<262144x64xf16>
  %y = graph.contract %1, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      acc f32 : (tensor<262144x64xf16>, tensor<64x256xf16>) -> tensor<262144x256xf16>
  func.return %y : tensor<262144x256xf16>
}

// The second product joins another one instead, whose result is larger than that of the first.
// CHECK-LABEL: func.func @beside
// CHECK:         graph.group
// CHECK:           graph.contract
// CHECK:           graph.yield %{{.*}} : tensor<100352x64xf16>
// CHECK:         graph.group
// CHECK:           graph.contract
// CHECK:           graph.contract
// CHECK:           graph.yield %{{.*}} : tensor<100352x256xf16>
func.func @beside(%x: tensor<100352x576xf16>, %w: tensor<576x64xf16>, %v: tensor<64x256xf16>,
                  %z: tensor<100352x64xf16>, %u: tensor<64x256xf16>) -> tensor<100352x256xf16> {
  %0 = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      acc f32 : (tensor<100352x576xf16>, tensor<576x64xf16>) -> tensor<100352x64xf16>
  %1 = graph.relu %0 : tensor<100352x64xf16>
  %2 = graph.contract %1, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      acc f32 : (tensor<100352x64xf16>, tensor<64x256xf16>) -> tensor<100352x256xf16>
  %3 = graph.contract %z, %u maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      acc f32 : (tensor<100352x64xf16>, tensor<64x256xf16>) -> tensor<100352x256xf16>
  %y = graph.add %2, %3 : tensor<100352x256xf16>
  func.return %y : tensor<100352x256xf16>
}
