"""
Resources that kernels of the examples take of a GPU: registers, shared memory,
instructions.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from differential import parsed
from example_variants import (
    Variant,
    gelu,
    layer_norm,
    matmul_bias_relu,
    softmax,
    weighted_sum,
)
from gpu_programs import sibling_products

from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.dialects.tile.loop_attributes import Mapping
from tlf.lowering.mem_to_triton.triton_target import build_launch_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.kernel_schedule import KernelSchedule
from tlf.planner.cost.gpu.program_resources import ProgramResources
from tlf.runtime.triton.launch_plan import load_plan
from tlf.runtime.triton.offline_compiler import (
    SHARED_LIMITS,
    KernelResources,
    OfflineCompiler,
)
from tlf.runtime.triton.ptx_statistics import PtxStatistics

Make = Callable[[int, int, str], Variant]

EXAMPLES = Path(__file__).parents[3] / "examples"


def kernels(text: str, compiler: OfflineCompiler) -> Sequence[KernelResources]:
    """
    Compile a program as the triton pipeline does for an H200.
    """
    context, module = parsed(text)
    load_target_spec("h200").attach_to_module(module)
    passes = build_passes("triton-pipeline", PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    return compiler.compile_plan_kernels(load_plan(build_launch_plan(module).json))


def assemblies(variant: Variant, compiler: OfflineCompiler) -> list[PtxStatistics]:
    found = kernels(variant.program.text(), compiler)
    return [each.assembly for each in found if each.assembly is not None]


ON_TRITON = (
    "attention",
    "bottleneck",
    "gelu",
    "layer_norm",
    "matmul_bias_relu",
    "residual_mlp",
    "softmax",
    "transformer_layer",
    "weighted_sum",
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ON_TRITON)
def test_examples(name: str, compiler: OfflineCompiler) -> None:
    text = (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")
    for found in kernels(text, compiler):
        assert found.assembly is not None
        assert found.assembly.spilled_bytes == 0, found
        assert found.shared <= SHARED_LIMITS[90], found


CHANNELS_LAST = """\
func.func @main(%x: tensor<SHAPExEL>, %w: tensor<3x3x512x512xEL> {tlf.parameter})
    -> tensor<SHAPExEL> {
  %u = graph.unfold %x
      map affine_map<(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)> fill 0.0
      : (tensor<SHAPExEL>) -> tensor<32x7x7x3x3x512xEL>
  %y = graph.contract %u, %w maps [
      affine_map<(n, h, w, o, r, s, c) -> (n, h, w, r, s, c)>,
      affine_map<(n, h, w, o, r, s, c) -> (r, s, c, o)>,
      affine_map<(n, h, w, o, r, s, c) -> (n, h, w, o)>] acc f32
      : (tensor<32x7x7x3x3x512xEL>, tensor<3x3x512x512xEL>) -> tensor<SHAPExEL>
  func.return %y : tensor<SHAPExEL>
}
"""
"""Convolution of 512 channels in NHWC, whose windows are gathered in shared memory."""


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_windows_with_channels_last(element: str, compiler: OfflineCompiler) -> None:
    text = CHANNELS_LAST.replace("SHAPE", "32x7x7x512").replace("EL", element)
    for found in kernels(text, compiler):
        assert found.assembly is not None
        assert found.assembly.spilled_bytes <= 256
        assert found.shared <= SHARED_LIMITS[90], found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("extents", [(512, 512, 512), (4096, 4096, 1024)])
def test_large_products_of_16_bits(
    element: str, extents: tuple[int, int, int], compiler: OfflineCompiler
) -> None:
    variant = matmul_bias_relu(*extents, element)
    for found in kernels(variant.program.text(), compiler):
        assert found.assembly is not None
        assert found.assembly.wgmma > 0
        assert found.assembly.mma == 0
        assert not found.assembly.is_serialised
        assert found.assembly.spilled_bytes == 0
        assert found.shared <= SHARED_LIMITS[90]
        # Tiles go to shared memory by descriptors; threads load the bias.
        assert found.assembly.loads.get(128, 0) <= 2


TF32 = {
    "convolution": """\
func.func @main(%x: tensor<8x28x28x64xf32>, %w: tensor<128x64x3x3xf32> {tlf.parameter})
    -> tensor<8x128x28x28xf32> {
  %0 = graph.transpose %x permutation [0, 3, 1, 2]
      : (tensor<8x28x28x64xf32>) -> tensor<8x64x28x28xf32>
  %y = graph.conv2d %0, %w padding [1, 1, 1, 1] precision "PRECISION"
      : (tensor<8x64x28x28xf32>, tensor<128x64x3x3xf32>) -> tensor<8x128x28x28xf32>
  func.return %y : tensor<8x128x28x28xf32>
}""",
    "product": """\
func.func @main(%x: tensor<1024x512xf32>, %w: tensor<512x1024xf32> {tlf.parameter})
    -> tensor<1024x1024xf32> {
  %y = graph.matmul %x, %w precision "PRECISION"
      : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  func.return %y : tensor<1024x1024xf32>
}""",
}
"""Programs with weights that matrix instructions read along the reduction."""


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("precision", ["tf32", "tf32x3"])
@pytest.mark.parametrize("name", TF32)
def test_products_of_tf32(name: str, precision: str, compiler: OfflineCompiler) -> None:
    (found,) = [
        each
        for each in kernels(TF32[name].replace("PRECISION", precision), compiler)
        if each.assembly is not None and each.assembly.wgmma
    ]
    assert found.assembly is not None
    assert found.assembly.mma == 0
    assert found.assembly.spilled_bytes == 0
    assert found.shared <= SHARED_LIMITS[90]
    assert set(found.assembly.loads) == {128}


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("make", [gelu, softmax, layer_norm])
def test_wide_accesses(make: Make, element: str, compiler: OfflineCompiler) -> None:
    """
    Rows that are a multiple of 16 bytes are loaded and stored 16 bytes at a time.
    """
    for assembly in assemblies(make(64, 1024, element), compiler):
        assert set(assembly.loads) == {128}
        assert set(assembly.stores) == {128}
        assert assembly.spilled_bytes == 0


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_sum_of_rows(element: str, compiler: OfflineCompiler) -> None:
    (assembly,) = assemblies(weighted_sum(64, 1024, element), compiler)
    assert set(assembly.loads) == {128}
    assert assembly.spilled_bytes == 0


CONVOLUTION = """
func.func @main(%x: {last}, %w: {filters} {{tlf.parameter}}) -> {result} {{
  %0 = graph.transpose %x permutation [0, 3, 1, 2] : ({last}) -> {images}
  %1 = graph.conv2d %0, %w strides [{stride}, {stride}]
      padding [{padding}, {padding}, {padding}, {padding}] groups {groups}
      : ({images}, {filters}) -> {convolved}
  %2 = graph.relu %1 : {convolved}
  %y = graph.transpose %2 permutation [0, 2, 3, 1] : ({convolved}) -> {result}
  func.return %y : {result}
}}
"""
"""A convolution with channels last, as in the middle of a network."""


def convolution(
    channels: int, extent: int, filters: int, taps: int, stride: int, groups: int = 1
) -> str:
    """Return a convolution of 32 square images, padded to keep their extent."""
    out = (extent - 1) // stride + 1
    return CONVOLUTION.format(
        last=f"tensor<32x{extent}x{extent}x{channels}xbf16>",
        images=f"tensor<32x{channels}x{extent}x{extent}xbf16>",
        filters=f"tensor<{filters}x{channels // groups}x{taps}x{taps}xbf16>",
        convolved=f"tensor<32x{filters}x{out}x{out}xbf16>",
        result=f"tensor<32x{out}x{out}x{filters}xbf16>",
        stride=stride,
        padding=taps // 2,
        groups=groups,
    )


CONVOLUTIONS = [
    (64, 56, 64, 3, 1),
    (256, 14, 256, 3, 1),
    (256, 14, 1024, 1, 1),
    (128, 28, 128, 3, 2),
    (256, 28, 512, 1, 2),
]
"""Channels, extent of images, filters, taps and stride."""


@pytest.mark.parametrize("sizes", CONVOLUTIONS)
def test_convolutions_are_products(
    sizes: tuple[int, int, int, int, int], compiler: OfflineCompiler
) -> None:
    """One kernel, whose windows go to shared memory 16 bytes at a time."""
    (found,) = kernels(convolution(*sizes), compiler)
    assert found.assembly is not None
    assert found.assembly.wgmma > 0
    assert found.assembly.mma == 0
    assert not found.assembly.is_serialised
    assert found.assembly.spilled_bytes == 0
    assert found.shared <= SHARED_LIMITS[90]
    assert set(found.assembly.loads) == {128}
    assert set(found.assembly.stores) == {128}


@pytest.mark.parametrize(("taps", "stride"), [(3, 1), (3, 2), (5, 1), (5, 2)])
def test_depthwise_convolutions_load_several_channels_at_once(
    taps: int, stride: int, compiler: OfflineCompiler
) -> None:
    text = convolution(96, 56, 96, taps, stride, groups=96)
    (found,) = kernels(text, compiler)
    assert found.assembly is not None
    assert found.assembly.spilled_bytes == 0
    # Loads of all taps are in flight together: the loop is unrolled.
    assert sum(found.assembly.loads.values()) >= taps * taps
    assert min(found.assembly.loads) >= 64
    assert min(found.assembly.stores) >= 64


ATTENTION = """
func.func @main(%q: tensor<64x512x{d}xbf16>, %k: tensor<64x{d}x512xbf16>,
    %v: tensor<64x512x{d}xbf16>) -> tensor<64x512x{d}xbf16> {{
  %0 = graph.matmul %q, %k : (tensor<64x512x{d}xbf16>, tensor<64x{d}x512xbf16>)
      -> tensor<64x512x512xbf16>
  %1 = graph.softmax %0 axis 2 : (tensor<64x512x512xbf16>) -> tensor<64x512x512xbf16>
  %2 = graph.matmul %1, %v : (tensor<64x512x512xbf16>, tensor<64x512x{d}xbf16>)
      -> tensor<64x512x{d}xbf16>
  func.return %2 : tensor<64x512x{d}xbf16>
}}
"""

PLANS = [
    (64, 64, KernelSchedule(3)),
    (128, 64, KernelSchedule(3)),
    (64, 128, KernelSchedule(2)),
    (128, 128, KernelSchedule(2)),
    (128, 64, KernelSchedule(2, warps=4)),
    (128, 32, KernelSchedule(3, warps=8)),
]
"""Rows, columns of scores, iterations in flight, and warps."""


def expected_and_found(
    text: str,
    tiles: Sequence[int],
    reduce: Sequence[int],
    schedule: KernelSchedule,
    compiler: OfflineCompiler,
) -> tuple[ProgramResources, KernelResources]:
    """
    Return the resources of a program that becomes one kernel with given tiles, by the
    model and by the compiler.
    """
    context, module = parsed(text)
    target = load_target_spec("h200")
    target.attach_to_module(module)
    passes = build_passes("triton-pipeline", PASSES, PIPELINES)
    names = [each.name for each in passes]
    at = names.index("graph-select-tile-sizes")
    PassManager(passes[:at]).run(context, module)
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    (level,) = target.tile_levels
    group.plan = graph.PlanAttr(
        level.name,
        tiles,
        reduce,
        Mapping.GRID,
        stages=schedule.stages,
        warps=schedule.warps,
    )
    model = GpuEstimator.create_for_level(target, level)
    assert model is not None
    tiling = members_of_group_op(group).analyze_tiles_of_sizes(
        tiles, reduce, model.rules
    )
    expected = model.kernels.program_resources_of(tiling, schedule)
    PassManager(passes[at:]).run(context, module)
    (found,) = compiler.compile_plan_kernels(load_plan(build_launch_plan(module).json))
    return expected, found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize(("rows", "columns", "schedule"), PLANS)
def test_what_loops_of_several_reductions_take_is_estimated(
    rows: int,
    columns: int,
    schedule: KernelSchedule,
    depth: int,
    compiler: OfflineCompiler,
) -> None:
    expected, found = expected_and_found(
        ATTENTION.format(d=depth), (1, rows, depth), (columns,), schedule, compiler
    )

    assert found.assembly is not None
    assert expected.warp_count == found.warps
    assert found.shared <= expected.shared_memory_bytes <= 1.45 * found.shared
    if expected.registers_per_thread < 256:
        assert found.assembly.registers <= 1.05 * expected.registers_per_thread
        assert expected.registers_per_thread <= 1.3 * found.assembly.registers


@pytest.mark.parametrize("columns", [64, 128])
def test_what_loops_of_several_products_take_is_estimated(
    columns: int, compiler: OfflineCompiler
) -> None:
    """A thread holds its part of both accumulators."""
    text = sibling_products(1024, 2048, 1024)
    expected, found = expected_and_found(
        text, (128, columns), (64,), KernelSchedule(3), compiler
    )

    assert found.assembly is not None
    assert expected.warp_count == found.warps
    assert found.assembly.spilled_bytes == 0
    assert found.assembly.registers <= 1.05 * expected.registers_per_thread
    assert expected.shared_memory_bytes <= found.shared


EPILOGUE = """
func.func @f(%x: tensor<8192x1024xbf16>, %w: tensor<1024x4096xbf16>,
             %r: tensor<{residual}xbf16>) -> tensor<8192x4096xbf16> {{
  %0 = graph.matmul %x, %w : (tensor<8192x1024xbf16>, tensor<1024x4096xbf16>)
      -> tensor<8192x4096xbf16>
  %1 = graph.add %0, %r : (tensor<8192x4096xbf16>, tensor<{residual}xbf16>)
      -> tensor<8192x4096xbf16>
  %2 = graph.relu %1 : tensor<8192x4096xbf16>
  func.return %2 : tensor<8192x4096xbf16>
}}"""


@pytest.mark.parametrize("residual", ["4096", "8192x4096"])
def test_persistent_programs_keep_products_in_flight(
    residual: str, compiler: OfflineCompiler
) -> None:
    """
    A processor has room for all of its programs. Those that load a tile beside the
    product are a grid.
    """
    (found,) = kernels(EPILOGUE.format(residual=residual), compiler)

    assert found.assembly is not None
    if residual == "8192x4096":
        assert found.grid not in ((132,), (264,))
        return
    assert found.grid in ((132,), (264,))
    assert not found.assembly.is_serialised
    assert found.assembly.spilled_bytes == 0
    resident = found.grid[0] // 132
    processor = load_target_spec("h200").gpu
    assert processor is not None
    assert resident * (found.shared + processor.reserved) <= processor.shared
    threads = resident * 32 * found.warps
    assert threads * found.assembly.registers <= processor.registers
