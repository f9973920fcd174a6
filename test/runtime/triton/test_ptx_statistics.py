"""Facts read from PTX and from the assembler's log."""

import pytest

from tlf.runtime.triton.ptx_statistics import read_ptx_statistics

PTX = """
  @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
  @%p1 ld.global.v2.b64 { %rd5, %rd6 }, [ %rd1 + 0 ];
  @%p1 ld.global.L1::evict_last.b16 { %rs1 }, [ %rd2 + 0 ];
  ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r9];
  cp.async.cg.shared.global [ %r1 + 0 ], [ %rd8 + 0 ], 0x10, %r2;
  cp.async.ca.shared.global [ %r1 + 0 ], [ %rd8 + 0 ], 0x4, %r2;
  wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, p, 1, 1;
  wgmma.wait_group.sync.aligned 0;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %f1 }, { %r1 }, { %r2 };
  @%p2 st.global.b32 [ %rd9 + 0 ], { %r1 };
"""

LOG = """
ptxas info    : Function properties for k
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers
"""


def test_counts() -> None:
    found = read_ptx_statistics(PTX, LOG)
    assert found.registers == 168
    assert found.spilled_bytes == 32
    assert (found.wgmma, found.mma) == (1, 1)
    assert found.loads == {128: 3, 32: 1, 16: 1}
    assert found.stores == {32: 1}
    assert not found.is_serialised


def test_serialised() -> None:
    warning = "wgmma.mma_async instructions are serialized due to ..."
    assert read_ptx_statistics(PTX, LOG + warning).is_serialised


def test_no_report() -> None:
    with pytest.raises(ValueError, match="expected a report on registers, got 'oh'"):
        read_ptx_statistics(PTX, "oh\n")
