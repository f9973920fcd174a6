// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile | filecheck %s
// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,convert-tile-to-mem,mem-fold-unit-dims,convert-mem-to-triton" -t "triton{function=first parts=source}" | filecheck %s --check-prefix=TRITON

// Programs sort whole rows, and load elements where their indices say.
// CHECK-LABEL: func.func @first
// CHECK-NEXT:    [[V:%.*]] = tile.empty : tensor<4096x9xf32>
// CHECK-NEXT:    [[I:%.*]] = tile.empty : tensor<4096x9xi64>
// CHECK-NEXT:    tile.while ([[R:%.*]] = 0 to 4096 step 2) parallel mapping(grid) into([[A:%.*]] = [[V]] : tensor<4096x9xf32>, [[B:%.*]] = [[I]] : tensor<4096x9xi64>)
// CHECK-NEXT:      [[X:%.*]] = tile.slice %x[[[R]], 0] : tensor<4096x1000xf32> -> tensor<2x1024xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[N:%.*]] = tile.argsort [[X]] count 1000 descending : tensor<2x1024xf32, #tile.encoding<L1>> -> tensor<2x16xi32, #tile.encoding<L1>>
// CHECK-NEXT:      [[E:%.*]] = tile.gather %x[[[R]], 0] axis 1 at [[N]] maps [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-NEXT:      [[M:%.*]] = graph.cast [[N]]
// CHECK-NEXT:      tile.deslice [[E]] into [[A]][[[R]], 0] valid [2, 9]
// CHECK-NEXT:      tile.deslice [[M]] into [[B]][[[R]], 0] valid [2, 9]

// TRITON:      def first_0(p0, p1, p2):
// TRITON:      [[N:v[0-9]*]] = argsort_rows(~sort_key({{v[0-9]*}}), 1000, 16)
// TRITON:      tl.load(p0 + [[N]] + {{.*}} * 1000, mask=([[N]] >= 0) & ([[N]] < 1000))
// TRITON:      def sort_key(x):
// TRITON:      def argsort_rows(key, count: tl.constexpr, first: tl.constexpr):
func.func @first(%x: tensor<4096x1000xf32>) -> (tensor<4096x9xf32>, tensor<4096x9xi64>) {
  %v, %i = graph.sort %x axis 1 descending : (tensor<4096x1000xf32>) -> (tensor<4096x9xf32>, tensor<4096x9xi64>)
  func.return %v, %i : tensor<4096x9xf32>, tensor<4096x9xi64>
}

// Results without uses are not computed.
// CHECK-LABEL: func.func @indices
// CHECK:         into(%{{[a-z0-9_]*}} = %{{[a-z0-9_]*}} : tensor<4096x1000xi64>)
// CHECK-NOT:     tile.gather
func.func @indices(%x: tensor<4096x1000xi8>) -> tensor<4096x1000xi64> {
  %v, %i = graph.sort %x axis 1 : (tensor<4096x1000xi8>) -> (tensor<4096x1000xi8>, tensor<4096x1000xi64>)
  func.return %i : tensor<4096x1000xi64>
}
