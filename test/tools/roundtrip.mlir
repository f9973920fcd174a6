// RUN: TLF_ROUNDTRIP

// CHECK-LABEL: func.func @f
func.func @f(%a: i32) -> i32 {
  // CHECK-NEXT: arith.addi %a, %a : i32
  %0 = arith.addi %a, %a : i32
  func.return %0 : i32
}
