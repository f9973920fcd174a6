// RUN: tlf-explain %s --entry distances | filecheck %s
// RUN: tlf-explain %s --entry distances --group 0 -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s --check-prefix=GROUP
// RUN: tlf-explain %s --entry distances --group 0 --json -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s --check-prefix=ALONE
// RUN: tlf-explain %s --entry deviation | filecheck %s --check-prefix=NEAR
// RUN: tlf-explain %s --entry deviation --json | filecheck %s --check-prefix=JSON

// Where reductions are no loop, and groups for L2 stay apart, the reason is told.

// CHECK:     @distances on npu, 2 groups
// CHECK:     {{^}}graph-decompose: passed: %y: matmul keeps its accumulator of f32
// CHECK:     {{^}}graph-group: missed: %v: no loop with other reductions: no factor corrects its running sum when the results that it depends on change
// CHECK-NOT: graph-partition: passed
// CHECK:     {{^}}in L1: graph-group: passed: %y: run together: matmul, cast

// GROUP:     group 0: %y
// GROUP-NOT: passed

// ALONE: "remarks": [],
func.func @distances(%x: tensor<256x64xbf16>, %w: tensor<64x5000xbf16>) -> tensor<256x1xbf16> {
  %y = graph.matmul %x, %w : (tensor<256x64xbf16>, tensor<64x5000xbf16>) -> tensor<256x5000xbf16>
  %m = graph.reduce %y <max> axes [1] keepdims : (tensor<256x5000xbf16>) -> tensor<256x1xbf16>
  %d = graph.sub %y, %m : (tensor<256x5000xbf16>, tensor<256x1xbf16>) -> tensor<256x5000xbf16>
  %c = graph.cos %d : tensor<256x5000xbf16>
  %v = graph.reduce %c <sum> axes [1] keepdims : (tensor<256x5000xbf16>) -> tensor<256x1xbf16>
  func.return %v : tensor<256x1xbf16>
}

// A group for L2 may become several near the engines.

// NEAR: @deviation on npu, 1 group
// NEAR: {{^}}graph-partition: passed: %v: 2 groups run as one
// NEAR: {{^}}in L1: graph-group: missed: %v: no loop with other reductions: it needs the result of a sum, which is arbitrary until the sum is complete
// NEAR: {{^}}in L1: graph-group: passed: %y: run together: matmul, cast

// JSON:      "source": "graph-partition",
// JSON-NEXT: "kind": "passed",
// JSON-NEXT: "text": "2 groups run as one
// JSON-NEXT: "locations": [
// JSON-NEXT:   "%v"
// JSON-NEXT: ],
// JSON-NEXT: "level": null
// JSON:      "source": "graph-group",
// JSON-NEXT: "kind": "missed",
// JSON-NEXT: "text": "no loop with other reductions: it needs the result of a sum
// JSON-NEXT: "locations": [
// JSON-NEXT:   "%v"
// JSON-NEXT: ],
// JSON-NEXT: "level": "L1"
func.func @deviation(%x: tensor<2048x64xbf16>, %w: tensor<64x8000xbf16>) -> tensor<2048x1xbf16> {
  %y = graph.matmul %x, %w : (tensor<2048x64xbf16>, tensor<64x8000xbf16>) -> tensor<2048x8000xbf16>
  %m = graph.mean %y axes [1] keepdims : (tensor<2048x8000xbf16>) -> tensor<2048x1xbf16>
  %d = graph.sub %y, %m : (tensor<2048x8000xbf16>, tensor<2048x1xbf16>) -> tensor<2048x8000xbf16>
  %a = graph.abs %d : tensor<2048x8000xbf16>
  %v = graph.reduce %a <sum> axes [1] keepdims : (tensor<2048x8000xbf16>) -> tensor<2048x1xbf16>
  func.return %v : tensor<2048x1xbf16>
}
