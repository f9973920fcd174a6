"""Distribution of tiles over threads, compared with kernels that Triton compiles."""

from collections.abc import Generator

import pytest
from differential import compiled_text

from tlf.planner.cost.gpu.thread_layout import ThreadLayout
from tlf.runtime.triton.launch_plan import load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler

COLUMN_SUMS = """
func.func @main(%x: tensor<{rows}x{all}x{T}>) -> tensor<{all}x{T}> {{
  %0 = graph.group ins(%a = %x : tensor<{rows}x{all}x{T}>)
      plan #graph.plan<L1, tile [{columns}], mapping grid> -> (tensor<{all}x{T}>) {{
    %1 = graph.reduce %a <max> axes [0]
      : (tensor<{rows}x{all}x{T}>) -> tensor<{all}x{T}>
    graph.yield %1 : tensor<{all}x{T}>
  }}
  func.return %0 : tensor<{all}x{T}>
}}
"""


@pytest.fixture(scope="module")
def compiler() -> Generator[OfflineCompiler]:
    with OfflineCompiler() as compiler:
        yield compiler


@pytest.mark.parametrize(
    ("element", "rows", "columns"),
    [
        ("f32", 2, 1024),
        ("f32", 2, 512),
        ("f32", 2, 256),
        ("f32", 16, 512),
        ("f32", 16, 64),
        ("f16", 8, 1024),
        ("f16", 8, 512),
        ("f16", 32, 16),
    ],
)
def test_warps_share_columns(
    element: str, rows: int, columns: int, compiler: OfflineCompiler
):
    """Partial results of several warps are combined in shared memory."""
    text = COLUMN_SUMS.format(rows=rows, columns=columns, all=4 * columns, T=element)
    (kernel,) = compiler.compile_plan_kernels(load_plan(compiled_text(text, "h200")))
    vector = 16 // (4 if element == "f32" else 2)
    layout = ThreadLayout.of_tile((rows, columns), vector, 32, kernel.warps)
    assert (layout.warps_along([0]) > 1) == (kernel.shared > 0)


@pytest.mark.parametrize(
    ("extents", "vector", "lanes", "warps"),
    [
        ((1024,), 4, (32,), (4,)),
        ((64,), 4, (32,), (4,)),
        ((2, 256), 4, (1, 32), (2, 2)),
        ((64, 32), 8, (8, 4), (4, 1)),
        ((4, 8, 16), 4, (1, 8, 4), (4, 1, 1)),
        ((1, 1), 1, (32, 1), (4, 1)),
    ],
)
def test_threads_fill_axes_from_the_last(
    extents: tuple[int, ...],
    vector: int,
    lanes: tuple[int, ...],
    warps: tuple[int, ...],
):
    assert ThreadLayout.of_tile(extents, vector, 32, 4) == ThreadLayout(lanes, warps)
