// RUN: tlf-opt %s --target npu-tiny -p convert-graph-to-tile | filecheck %s

// Loops over rows and columns, and one over the depth that carries the total. Tiles at
// the ends of the depth read zeros; rows and columns beyond the end are never written.
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    [[E:%.*]] = tile.empty : tensor<10x20xf32>
// CHECK-NEXT:    [[Y:%.*]] = tile.while ([[I:%.*]] = 0 to 10 step 4, [[J:%.*]] = 0 to 20 step 8) parallel mapping(loop) into([[O:%.*]] = [[E]] : tensor<10x20xf32>) {
// CHECK-NEXT:      [[Z:%.*]] = tile.fill 0.000000e+00 : f32 : tensor<4x8xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[T:%.*]] = tile.while ([[K:%.*]] = 0 to 30 step 7) sequential mapping(loop) carry([[A:%.*]] = [[Z]] : {{.*}}) {
// CHECK-NEXT:        [[L:%.*]] = tile.slice %x[[[I]], [[K]]] fill 0.000000e+00 : f32 : tensor<10x30xf32> -> tensor<4x7xf32, #tile.encoding<L1>>
// CHECK-NEXT:        [[R:%.*]] = tile.slice %w[[[K]], [[J]]] fill 0.000000e+00 : f32 : tensor<30x20xf32> -> tensor<7x8xf32, #tile.encoding<L1>>
// CHECK-NEXT:        [[P:%.*]] = graph.matmul [[L]], [[R]] init [[A]]
// CHECK-NEXT:        tile.yield [[P]]
// CHECK-NEXT:      }
// CHECK-NEXT:      [[B:%.*]] = tile.slice %b[[[J]]] : tensor<20xf32> -> tensor<8xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[S:%.*]] = graph.add [[T]], [[B]]
// CHECK-NEXT:      [[D:%.*]] = tile.deslice [[S]] into [[O]][[[I]], [[J]]]
// CHECK-NEXT:      tile.yield [[D]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[Y]]
func.func @matmul(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>, %b: tensor<20xf32>) -> tensor<10x20xf32> {
  %y = graph.group ins(%l = %x, %r = %w, %c = %b : tensor<10x30xf32>, tensor<30x20xf32>, tensor<20xf32>)
      plan #graph.plan<L1, tile [4, 8], reduce [7]> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %l, %r : (tensor<10x30xf32>, tensor<30x20xf32>) -> tensor<10x20xf32>
    %1 = graph.add %0, %c : (tensor<10x20xf32>, tensor<20xf32>) -> tensor<10x20xf32>
    graph.yield %1 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// A depth that steps divide needs no zeros.
// CHECK-LABEL: func.func @divided
// CHECK:         tile.while ({{.*}}) sequential
// CHECK-NEXT:      tile.slice %x[{{.*}}] : tensor<10x30xf32>
// CHECK-NEXT:      tile.slice %w[{{.*}}] : tensor<30x20xf32>
func.func @divided(%x: tensor<10x30xf32>, %w: tensor<30x20xf32>) -> tensor<10x20xf32> {
  %y = graph.group ins(%l = %x, %r = %w : tensor<10x30xf32>, tensor<30x20xf32>)
      plan #graph.plan<L1, tile [4, 8], reduce [6]> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %l, %r : (tensor<10x30xf32>, tensor<30x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}

// A product that goes on from a tensor cuts its start from it; what a product carries
// has the type of its result.
// CHECK-LABEL: func.func @init
// CHECK:         tile.while ([[I:%.*]] = 0 to 10 step 4) parallel
// CHECK-NEXT:      [[S:%.*]] = tile.slice %c[[[I]], 0] : tensor<10x20xf32> -> tensor<4x20xf32, #tile.encoding<L1>>
// CHECK-NEXT:      tile.while ({{.*}}) sequential mapping(loop) carry([[A:%.*]] = [[S]] :
// CHECK:             graph.matmul {{.*}} init [[A]]
func.func @init(%x: tensor<10x30xbf16>, %w: tensor<30x20xbf16>, %c: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %y = graph.group ins(%l = %x, %r = %w, %d = %c : tensor<10x30xbf16>, tensor<30x20xbf16>, tensor<10x20xf32>)
      plan #graph.plan<L1, tile [4, 20], reduce [8]> -> (tensor<10x20xf32>) {
    %0 = graph.matmul %l, %r init %d : (tensor<10x30xbf16>, tensor<30x20xbf16>, tensor<10x20xf32>) -> tensor<10x20xf32>
    graph.yield %0 : tensor<10x20xf32>
  }
  func.return %y : tensor<10x20xf32>
}
