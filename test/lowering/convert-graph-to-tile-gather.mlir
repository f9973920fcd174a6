// RUN: tlf-opt %s --target h200 -p convert-graph-to-tile --split-input-file | filecheck %s

// The table stays where it is, and a tile of the indices says which elements of it come;
// what follows works on the tile.
// CHECK-LABEL: func.func @embed
// CHECK:         tile.while ([[I:%.*]] = 0 to 37 step 16, [[J:%.*]] = 0 to 64 step 32) parallel
// CHECK-NEXT:      [[N:%.*]] = tile.slice %n[[[I]]] : tensor<37xi64> -> tensor<16xi64, #tile.encoding<L1>>
// CHECK-NEXT:      [[T:%.*]] = tile.gather %t[0, [[J]]] axis 0 at [[N]] maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] fill 0.000000e+00 : f32 : tensor<500x64xf32>, tensor<16xi64, #tile.encoding<L1>> -> tensor<16x32xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[P:%.*]] = tile.slice %p[[[I]], [[J]]]
// CHECK-NEXT:      graph.add [[T]], [[P]]
func.func @embed(%t: tensor<500x64xf32>, %n: tensor<37xi64>, %p: tensor<37x64xf32>) -> tensor<37x64xf32> {
  %y = graph.group ins(%a = %t, %b = %n, %c = %p : tensor<500x64xf32>, tensor<37xi64>, tensor<37x64xf32>) plan #graph.plan<L1, tile [16, 32]> -> (tensor<37x64xf32>) {
    %0 = graph.take %a, %b axis 0 : (tensor<500x64xf32>, tensor<37xi64>) -> tensor<37x64xf32>
    %1 = graph.add %0, %c : (tensor<37x64xf32>, tensor<37x64xf32>) -> tensor<37x64xf32>
    graph.yield %1 : tensor<37x64xf32>
  }
  func.return %y : tensor<37x64xf32>
}

// -----

// Indices may be computed in the group, and only as much is valid as there is of a tile.
// CHECK-LABEL: func.func @columns
// CHECK:         [[N:%.*]] = tile.slice %n[[[I:%.*]], 0]
// CHECK-NEXT:    [[M:%.*]] = graph.neg [[N]]
// CHECK-NEXT:    tile.gather %t[[[I]], 0] axis 1 at [[M]] maps [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>] fill 0 : i8 : tensor<9x50xi8>, tensor<4x8xi32, #tile.encoding<L1>> -> tensor<4x8xi8, #tile.encoding<L1>>
func.func @columns(%t: tensor<9x50xi8>, %n: tensor<9x5xi32>) -> tensor<9x5xi8> {
  %y = graph.group ins(%a = %t, %b = %n : tensor<9x50xi8>, tensor<9x5xi32>) plan #graph.plan<L1, tile [4, 8]> -> (tensor<9x5xi8>) {
    %0 = graph.neg %b : tensor<9x5xi32>
    %1 = graph.gather %a, %0 axis 1 : (tensor<9x50xi8>, tensor<9x5xi32>) -> tensor<9x5xi8>
    graph.yield %1 : tensor<9x5xi8>
  }
  func.return %y : tensor<9x5xi8>
}

// -----

// In a loop over the pieces of a sum the indices are read once.
// CHECK-LABEL: func.func @product
// CHECK:         [[N:%.*]] = tile.slice %n
// CHECK:         tile.while ([[K:%.*]] = 0 to 64 step 32) sequential
// CHECK-NEXT:      tile.gather %t[0, [[K]]] axis 0 at [[N]]
func.func @product(%t: tensor<500x64xf16>, %n: tensor<32xi64>, %w: tensor<64x16xf16>) -> tensor<32x16xf32> {
  %y = graph.group ins(%a = %t, %b = %n, %c = %w : tensor<500x64xf16>, tensor<32xi64>, tensor<64x16xf16>) plan #graph.plan<L1, tile [16, 16], reduce [32]> -> (tensor<32x16xf32>) {
    %0 = graph.take %a, %b axis 0 : (tensor<500x64xf16>, tensor<32xi64>) -> tensor<32x64xf16>
    %1 = graph.matmul %0, %c : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
    graph.yield %1 : tensor<32x16xf32>
  }
  func.return %y : tensor<32x16xf32>
}
