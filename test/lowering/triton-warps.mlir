// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile" | filecheck %s --check-prefix TILE
// RUN: tlf-opt %s --target h200 -p "convert-graph-to-tile,convert-tile-to-mem,convert-mem-to-triton" | filecheck %s --check-prefix LAUNCH

// The number of warps of a plan is that of the loops over tiles, and of the launch.
// TILE-LABEL:   func.func @eight
// TILE:           tile.while (%i = 0 to 64 step 1) parallel mapping(grid) warps(8) into(
// LAUNCH:         triton.launch @eight_0(%x, %{{.*}}) grid [64] warps 8
func.func @eight(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> {
  %y = graph.group ins(%a = %x : tensor<64x2048xf32>)
      plan #graph.plan<L1, tile [1, 2048], mapping grid, warps 8> -> (tensor<64x2048xf32>) {
    %0 = graph.exp %a : tensor<64x2048xf32>
    graph.yield %0 : tensor<64x2048xf32>
  }
  func.return %y : tensor<64x2048xf32>
}

// A plan without it leaves the number to the sizes of the tiles.
// TILE-LABEL:   func.func @usual
// TILE:           tile.while (%i = 0 to 64 step 1) parallel mapping(grid) into(
// LAUNCH:         triton.launch @usual_0(%x, %{{.*}}) grid [64] warps 4
func.func @usual(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> {
  %y = graph.group ins(%a = %x : tensor<64x2048xf32>)
      plan #graph.plan<L1, tile [1, 2048], mapping grid> -> (tensor<64x2048xf32>) {
    %0 = graph.exp %a : tensor<64x2048xf32>
    graph.yield %0 : tensor<64x2048xf32>
  }
  func.return %y : tensor<64x2048xf32>
}
