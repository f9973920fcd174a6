"""Programs of one GPU kernel, and their cost by the GPU cost model."""

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import (
    GroupMembers,
    group_members_of,
    tile_rules_of,
)
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.target import TargetSpec, load_target_spec, target_from_data
from tlf.dialects.target.description import Data
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel

Sizes = Sequence[int]

H200 = load_target_spec("h200")


def changed(target: TargetSpec, path: str, times: float) -> TargetSpec:
    """Return a target with one number scaled; integers in `path` index lists."""
    return target_from_data(_changed(target.data, path.split("."), times))


def _changed(data: Data, path: Sequence[str], times: float) -> Mapping[str, Data]:
    assert isinstance(data, Mapping)
    key, *rest = path
    inner = data[key]
    if rest and not isinstance(inner, Mapping):
        assert isinstance(inner, Sequence)
        items = list(inner)
        items[int(rest[0])] = _changed(items[int(rest[0])], rest[1:], times)
        return {**data, key: items}
    if rest:
        return {**data, key: _changed(inner, rest, times)}
    assert isinstance(inner, int | float)
    return {**data, key: type(inner)(inner * times)}


def parsed(text: str) -> ModuleOp:
    return parse_module(new_context(), Source(text, "program.mlir"))


def members(text: str) -> tuple[ModuleOp, GroupMembers]:
    """Return a function and the group of all its operations."""
    module = parsed(text)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    operations = [
        op for op in function.body.block.ops if isinstance(op, TilingInterface)
    ]
    return module, group_members_of(operations)


def price(
    text: str, tile: Sizes, reduce: Sizes = (), target: TargetSpec = H200
) -> KernelCost:
    """Return the estimated cost of a function as one kernel."""
    chip = Chip.from_target(target)
    assert chip is not None
    _, group = members(text)
    tiling = group.analyze_tiles_of_sizes(tile, reduce, tile_rules_of(target, "L1"))
    return KernelModel(chip, target).estimate_cost(tiling)


def product(rows: int, columns: int, depth: int, element: str = "bf16") -> str:
    left, right = f"{rows}x{depth}x{element}", f"{depth}x{columns}x{element}"
    out = f"tensor<{rows}x{columns}x{element}>"
    types = f"(tensor<{left}>, tensor<{right}>) -> {out}"
    return (
        f"func.func @f(%x: tensor<{left}>, %w: tensor<{right}>) -> {out} {{\n"
        f"%y = graph.matmul %x, %w : {types}\n"
        f"func.return %y : {out}\n}}"
    )


def sibling_products(rows: int, columns: int, depth: int) -> str:
    """Return the elementwise product of two products of one tensor, in bf16."""
    x, w = f"tensor<{rows}x{depth}xbf16>", f"tensor<{depth}x{columns}xbf16>"
    sum_, out = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x{columns}xbf16>"
    maps = (
        "maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, "
        "affine_map<(m, n, k) -> (m, n)>]"
    )
    return (
        f"func.func @f(%x: {x}, %v: {w}, %w: {w}) -> {out} {{\n"
        f"%0 = graph.contract %x, %v {maps} : ({x}, {w}) -> {sum_}\n"
        f"%1 = graph.contract %x, %w {maps} : ({x}, {w}) -> {sum_}\n"
        f"%2 = graph.mul %0, %1 : ({sum_}, {sum_}) -> {sum_}\n"
        f"%y = graph.cast %2 : ({sum_}) -> {out}\n"
        f"func.return %y : {out}\n}}"
    )


def convolution(images: int, extent: int, channels: int, filters: int) -> str:
    """Return a 3x3 convolution as a product of windows that are read as rows."""
    rows, depth = images * extent**2, 9 * channels
    x = f"tensor<{images}x{extent}x{extent}x{channels}xbf16>"
    u, w = f"tensor<{rows}x{depth}xbf16>", f"tensor<{depth}x{filters}xbf16>"
    y = f"tensor<{rows}x{filters}xbf16>"
    basis = [[images, extent, extent], [3, 3, channels]]
    map_ = "(n, h, w, r, s, c) -> (n, h + r - 1, w + s - 1, c)"
    return (
        f"func.func @f(%x: {x}, %w: {w}) -> {y} {{\n"
        f"%u = graph.im2col %x map affine_map<{map_}> basis {basis} fill 0.0 "
        f": ({x}) -> {u}\n"
        f"%y = graph.matmul %u, %w : ({u}, {w}) -> {y}\n"
        f"func.return %y : {y}\n}}"
    )


def elementwise(rows: int, columns: int, element: str = "f32") -> str:
    type_ = f"tensor<{rows}x{columns}x{element}>"
    return (
        f"func.func @f(%x: {type_}, %w: {type_}) -> {type_} {{\n"
        f"%0 = graph.exp %x : {type_}\n"
        f"%y = graph.add %0, %w : ({type_}, {type_}) -> {type_}\n"
        f"func.return %y : {type_}\n}}"
    )


def rows_sum(rows: int, columns: int, axis: int = 1) -> str:
    extent = rows if axis == 1 else columns
    operand_type, out = f"tensor<{rows}x{columns}xf32>", f"tensor<{extent}xf32>"
    return (
        f"func.func @f(%x: {operand_type}) -> {out} {{\n"
        f"%y = graph.reduce %x <sum> axes [{axis}] : ({operand_type}) -> {out}\n"
        f"func.return %y : {out}\n}}"
    )
