// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile | filecheck %s
// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,convert-tile-to-mem" | filecheck %s --check-prefix=MEM

// Programs combine one tile of updates each. Elements of a tile that are beyond the
// updates change nothing.
// CHECK-LABEL: func.func @rows
// CHECK:         tile.while (%{{.*}} = 0 to 1000 step 1, {{.*}} = 0 to 3000 step 2048) parallel mapping(grid) into([[O:%.*]] = %x_1 : tensor<9x4000xf32>)
// CHECK-NEXT:      [[U:%.*]] = tile.slice %u[[[I:%.*]], [[J:%.*]]] fill -0.000000e+00 : f32 : tensor<1000x3000xf32> -> tensor<1x2048xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[N:%.*]] = tile.slice %n[[[I]], 0] fill -1 : i64 : tensor<1000x1xi64> -> tensor<1x1xi64, #tile.encoding<L1>>
// CHECK-NEXT:      [[Y:%.*]] = tile.scatter [[U]] into [[O]][0, [[J]]] axis 0 at [[N]] maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, 0)>] combine <add>
// CHECK-NEXT:      tile.yield [[Y]]
// MEM-LABEL:   func.func @rows
// MEM:           "scf.parallel"
// MEM:             [[U:%.*]] = mem.load %u
// MEM-NEXT:        [[N:%.*]] = mem.load %n
// MEM-NEXT:        mem.scatter [[U]] to %{{.*}}[0, %{{.*}}] axis 0 at [[N]] maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, 0)>] <add>
// MEM-NEXT:        scf.reduce
// MEM-NEXT:      }) {mapping = "grid"}
func.func @rows(%x: tensor<9x4000xf32>, %n: tensor<1000x1xi64>, %u: tensor<1000x3000xf32>) -> tensor<9x4000xf32> {
  %e = tile.empty : tensor<9x4000xf32>
  %x_1 = tile.while (%i = 0 to 9 step 1, %j = 0 to 4000 step 512) parallel mapping(grid) into(%o = %e : tensor<9x4000xf32>) {
    %t = tile.slice %x[%i, %j] : tensor<9x4000xf32> -> tensor<1x512xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i, %j] : tensor<1x512xf32, #tile.encoding<L1>> into tensor<9x4000xf32>
    tile.yield %d : tensor<9x4000xf32>
  }
  %y = graph.scatter %x_1, %n, %u axis 0 <add> combined : (tensor<9x4000xf32>, tensor<1000x1xi64>, tensor<1000x3000xf32>) -> tensor<9x4000xf32>
  func.return %y : tensor<9x4000xf32>
}

// One program suffices for few updates.
// CHECK-LABEL: func.func @few
// CHECK:         tile.while () parallel mapping(grid) into
// CHECK-NEXT:      tile.slice %u[0] fill -9223372036854775808 : i64 : tensor<1xi64> -> tensor<1xi64, #tile.encoding<L1>>
func.func @few(%x: tensor<700xi64>, %n: tensor<1xi32>, %u: tensor<1xi64>) -> tensor<700xi64> {
  %e = tile.empty : tensor<700xi64>
  %x_1 = tile.while (%i = 0 to 700 step 512) parallel mapping(grid) into(%o = %e : tensor<700xi64>) {
    %t = tile.slice %x[%i] : tensor<700xi64> -> tensor<512xi64, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i] : tensor<512xi64, #tile.encoding<L1>> into tensor<700xi64>
    tile.yield %d : tensor<700xi64>
  }
  %y = graph.scatter %x_1, %n, %u axis 0 <max> combined : (tensor<700xi64>, tensor<1xi32>, tensor<1xi64>) -> tensor<700xi64>
  func.return %y : tensor<700xi64>
}

// Updates of 16 bits are widened tile by tile.
// CHECK-LABEL: func.func @halves
// CHECK:         [[U:%.*]] = tile.slice %u[{{.*}}] fill -0.000000e+00 : f16 : tensor<2000xf16> -> tensor<16xf16, #tile.encoding<L1>>
// CHECK-NEXT:    [[W:%.*]] = graph.cast [[U]] : (tensor<16xf16, #tile.encoding<L1>>) -> tensor<16xf32, #tile.encoding<L1>>
// CHECK-NEXT:    [[N:%.*]] = tile.slice %n
// CHECK-NEXT:    tile.scatter [[W]] into
func.func @halves(%x: tensor<700xf32>, %n: tensor<2000xi32>, %u: tensor<2000xf16>) -> tensor<700xf32> {
  %e = tile.empty : tensor<700xf32>
  %x_1 = tile.while (%i = 0 to 700 step 512) parallel mapping(grid) into(%o = %e : tensor<700xf32>) {
    %t = tile.slice %x[%i] : tensor<700xf32> -> tensor<512xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i] : tensor<512xf32, #tile.encoding<L1>> into tensor<700xf32>
    tile.yield %d : tensor<700xf32>
  }
  %y = graph.scatter %x_1, %n, %u axis 0 <add> combined : (tensor<700xf32>, tensor<2000xi32>, tensor<2000xf16>) -> tensor<700xf32>
  func.return %y : tensor<700xf32>
}
