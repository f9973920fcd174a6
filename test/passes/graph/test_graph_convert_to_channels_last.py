"""Networks compute the same once their images are matrices with a row per pixel."""

from collections.abc import Sequence

import pytest
from differential import disagreement, make_case, parsed
from random_image_networks import NetworkBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.graph.stored_images import WindowRowsInterface
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

ELEMENTS = ("f32", "f64", "f16", "bf16", "i8", "i32")
ALONE = "graph-convert-to-channels-last,tidy"
DECOMPOSED = f"graph-decompose,{ALONE}"


def convert(text: str, pipeline: str = ALONE, target: str = "h200") -> ModuleOp:
    """Return a program after some passes for a target."""
    context, module = parsed(text)
    load_target_spec(target).attach_to_module(module)
    PassManager(build_passes(pipeline, PASSES, PIPELINES)).run(context, module)
    return module


def check(text: str, pipeline: str = ALONE) -> ModuleOp:
    """Compare a program with the reference after some passes, and return it."""
    case = make_case(text)
    module = convert(text, pipeline)
    assert disagreement(case, interpret(module, case.inputs)) is None
    return module


def count(module: Operation, kind: type[Operation]) -> int:
    """Return the number of operations of a class."""
    return sum(isinstance(op, kind) for op in module.walk())


def network(types: str, results: str, *lines: str) -> str:
    """Return a program: arguments and results in text, and operations."""
    names = ", ".join(each.split(":")[0] for each in results.split(", "))
    shown = ", ".join(each.split(":")[1] for each in results.split(", "))
    body = "\n".join(f"  {line}" for line in lines)
    return (
        f"func.func @main({types}) -> ({shown}) {{\n{body}\n"
        f"  func.return {names} : {shown}\n}}\n"
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pipeline", [ALONE, DECOMPOSED, "graph-pipeline"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("seed", range(20))
def test_random_networks_of_images(seed: int, element: str, pipeline: str):
    text = NetworkBuilder(seed, element).build_network(8).text()
    module = check(text, pipeline)
    assert not count(module, graph.Conv2dOp)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("pipeline", [DECOMPOSED, "graph-pipeline"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("seed", range(100, 110))
def test_random_networks_of_volumes(seed: int, element: str, pipeline: str):
    text = NetworkBuilder(seed, element, axis_count=3).build_network(6).text()
    module = check(text, pipeline)
    assert not count(module, graph.Conv3dOp)
    assert not count(module, graph.MaxPool3dOp)


X, W = "tensor<2x8x6x6xbf16>", "tensor<8x8x3x3xbf16>"
BROADCAST_SHAPES = ("8x1x1", "1x8x1x1", "2x1x6x6", "2x8x1x1", "1x1x6x6", "6x6", "6x1")
"""Shapes that broadcast to the images of the chains."""


def padded_convolution(result: str, images: str) -> str:
    return (
        f"{result} = graph.conv2d {images}, %w padding [1, 1, 1, 1] : ({X}, {W}) -> {X}"
    )


@pytest.mark.parametrize("shape", [*(f"{each}x" for each in BROADCAST_SHAPES), ""])
def test_nothing_is_transposed_between_convolutions(shape: str):
    b = f"tensor<{shape}bf16>"
    text = network(
        f"%x: {X}, %w: {W}, %b: {b}",
        f"%3: {X}",
        padded_convolution("%0", "%x"),
        f"%1 = graph.add %0, %b : ({X}, {b}) -> {X}",
        f"%2 = graph.maximum %x, %1 : ({X}, {X}) -> {X}",
        padded_convolution("%3", "%2"),
    )
    module = check(text)
    # The filters, once for both convolutions; the second writes channels first.
    sources = [
        op.operand.owner for op in module.walk() if isinstance(op, graph.TransposeOp)
    ]
    assert [isinstance(each, graph.ReshapeOp) for each in sources] == [False]
    # The argument once, the windows of both convolutions; some of `b`.
    rows = [op for op in module.walk() if isinstance(op, graph.Im2colOp)]
    assert len(rows) == (4 if shape in ("2x8x1x1x", "6x1x", "1x1x6x6x", "6x6x") else 3)


def transposed_values(module: ModuleOp) -> list[str]:
    """Return the names of the operations whose results are transposed."""
    ops = (op for op in module.walk() if isinstance(op, graph.TransposeOp))
    owners = (op.operand.owner for op in ops)
    return [each.name if isinstance(each, Operation) else "" for each in owners]


@pytest.mark.parametrize("count", [1, 2])
def test_returned_images_are_written_with_channels_first(count: int):
    x, b = f"tensor<{count}x8x6x6xbf16>", "tensor<8x1x1xbf16>"
    module = check(
        network(
            f"%x: {x}, %w: {W}, %b: {b}",
            f"%3: {x}",
            f"%0 = graph.conv2d %x, %w padding [1, 1, 1, 1] : ({x}, {W}) -> {x}",
            f"%1 = graph.add %0, %b : ({x}, {b}) -> {x}",
            f"%2 = graph.add %1, %x : ({x}, {x}) -> {x}",
            f"%3 = graph.relu %2 : {x}",
        )
    )
    assert transposed_values(module) == [""]


def test_returned_images_use_intermediate_values_repeatedly():
    x = "tensor<2x8x6x6xbf16>"
    lines = [f"%0 = graph.conv2d %x, %w padding [1, 1, 1, 1] : ({x}, {W}) -> {x}"]
    lines += [
        f"%{at + 1} = graph.add %{at}, %{at} : ({x}, {x}) -> {x}" for at in range(40)
    ]
    lines.append(f"%y = graph.mul %40, %0 : ({x}, {x}) -> {x}")
    module = check(network(f"%x: {x}, %w: {W}", f"%y: {x}", *lines))
    assert transposed_values(module) == [""]
    # Each operation is built once.
    assert count(module, graph.AddOp) == 40


def test_returned_images_that_others_read_are_transposed():
    module = check(
        network(
            f"%x: {X}, %w: {W}",
            f"%0: {X}, %1: {X}",
            padded_convolution("%0", "%x"),
            padded_convolution("%1", "%0"),
        )
    )
    assert transposed_values(module) == ["", "graph.reshape"]


def test_returned_images_of_values_that_others_read_are_transposed():
    x, y = "tensor<1x8x6x6xbf16>", "tensor<1x8x1x1xbf16>"
    module = convert(
        network(
            f"%x: {x}, %w: {W}",
            f"%1: {x}, %2: {y}",
            f"%0 = graph.conv2d %x, %w padding [1, 1, 1, 1] : ({x}, {W}) -> {x}",
            f"%1 = graph.relu %0 : {x}",
            f"%2 = graph.reduce %0 <sum> axes [2, 3] keepdims : ({x}) -> {y}",
        )
    )
    assert transposed_values(module) == ["", "graph.reshape"]


@pytest.mark.parametrize(
    ("channels", "count_of_gathers"), [(2, 1), (3, 2), (7, 2), (8, 2), (64, 2)]
)
def test_images_are_stored_if_their_pixels_fill_loads(
    channels: int, count_of_gathers: int
):
    x, w, y = (
        f"tensor<{each}xbf16>"
        for each in (f"1x{channels}x9x9", f"4x{channels}x3x3", "1x4x4x4")
    )
    text = network(
        f"%x: {x}, %w: {w}",
        f"%y: {y}",
        f"%y = graph.conv2d %x, %w strides [2, 2] : ({x}, {w}) -> {y}",
    )
    assert count(check(text), graph.Im2colOp) == count_of_gathers


def test_pointwise_convolutions_gather_no_windows():
    w = "tensor<8x8x1x1xbf16>"
    line = f": ({X}, {w}) -> {X}"
    text = network(
        f"%x: {X}, %w: {w}",
        f"%1: {X}",
        f"%0 = graph.conv2d %x, %w {line}",
        f"%1 = graph.conv2d %0, %w {line}",
    )
    assert count(check(text), graph.Im2colOp) == 1


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "i8"])
@pytest.mark.parametrize("init", ["", "init %c "])
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("is_computed", [False, True])
def test_depthwise_convolutions_are_sums_of_taps(
    is_computed: bool, multiplier: int, init: str, element: str
):
    y_element = "i32" if element == "i8" else element
    x, w = f"tensor<2x8x6x6x{element}>", f"tensor<{8 * multiplier}x1x3x3x{element}>"
    y = f"tensor<2x{8 * multiplier}x4x4x{y_element}>"
    types = f"({x}, {w}, {y})" if init else f"({x}, {w})"
    v, images = f"tensor<8x8x1x1x{element}>", "%0" if is_computed else "%x"
    module = check(
        network(
            f"%x: {x}, %w: {w}, %c: {y}, %v: {v}",
            f"%y: {y}",
            f"%0 = graph.conv2d %x, %v : ({x}, {v}) -> {x}",
            f"%y = graph.conv2d {images}, %w {init}groups 8 : {types} -> {y}",
        )
    )
    assert count(module, graph.ContractOp) == is_computed
    (reduction,) = (op for op in module.walk() if isinstance(op, graph.ReduceOp))
    assert reduction.axis_list == ((1,) if is_computed else (2,))


def test_concatenated_channels_stay_in_memory():
    y, v = "tensor<2x16x6x6xbf16>", "tensor<8x16x1x1xbf16>"
    text = network(
        f"%x: {X}, %w: {W}, %v: {v}",
        f"%2: {X}",
        padded_convolution("%0", "%x"),
        f"%1 = graph.concat %0, %x axis 1 : ({X}, {X}) -> {y}",
        f"%2 = graph.conv2d %1, %v : ({y}, {v}) -> {X}",
    )
    module = check(text, DECOMPOSED)
    (concat,) = (op for op in module.walk() if isinstance(op, graph.ConcatOp))
    assert concat.axis.value.data == 1
    assert str(concat.result.type) == "tensor<72x16xbf16>"


PADDED = [
    ("graph.conv2d %1, %w", ", tensor<8x8x3x3xf32>", "0.0", True),
    ("graph.conv2d %1, %w", ", tensor<8x8x3x3xf32>", "1.0", False),
    ("graph.max_pool2d %1 kernel [3, 3]", "", "-inf", True),
    ("graph.max_pool2d %1 kernel [3, 3]", "", "0.0", False),
    ("graph.sum_pool2d %1 kernel [3, 3]", "", "0.0", True),
    ("graph.sum_pool2d %1 kernel [3, 3]", "", "-inf", False),
]
"""Operations on windows of padded images, and whether they pad images alike."""


@pytest.mark.parametrize(("windows", "filters", "fill", "is_absorbed"), PADDED)
@pytest.mark.parametrize("reshaped", ["1x8x6x7", "1x8x7x6"])
def test_windows_pad_images(
    reshaped: str, windows: str, filters: str, fill: str, is_absorbed: bool
):
    x, w = "tensor<1x8x4x6xf32>", "tensor<8x8x3x3xf32>"
    p, r = "tensor<1x8x6x7xf32>", f"tensor<{reshaped}xf32>"
    y = "tensor<1x8x4x5xf32>" if r == p else "tensor<1x8x5x4xf32>"
    text = network(
        f"%x: {x}, %w: {w}, %v: tensor<8x8x1x1xf32>",
        f"%y: {y}",
        f"%0 = graph.conv2d %x, %v : ({x}, tensor<8x8x1x1xf32>) -> {x}",
        f"%p = graph.pad %0 low [0, 0, 1, 0] high [0, 0, 1, 1] fill {fill} "
        f": ({x}) -> {p}",
        f"%1 = graph.reshape %p : ({p}) -> {r}",
        f"%y = {windows} : ({r}{filters}) -> {y}",
    )
    # The argument, the windows, and the padded image if its own padding is another.
    wanted = 2 if is_absorbed and r == p else 3
    assert count(check(text), graph.Im2colOp) == wanted


SHUFFLES = [
    # Pixel shuffle, also to a single channel and of a single image.
    ("1x4x3x5", "1x1x2x2x3x5", [0, 1, 4, 2, 5, 3], "1x1x6x10"),
    ("1x4x3x5", "1x2x2x3x5", [0, 3, 1, 4, 2], "1x1x6x10"),
    ("1x4x3x5", "2x2x3x5", [2, 0, 3, 1], "1x1x6x10"),
    ("2x8x3x5", "2x2x2x2x3x5", [0, 1, 4, 2, 5, 3], "2x2x6x10"),
    # Channel shuffle.
    ("2x8x3x5", "2x2x4x3x5", [0, 2, 1, 3, 4], "2x8x3x5"),
    ("1x8x3x5", "2x4x3x5", [1, 0, 2, 3], "1x8x3x5"),
    # Pixels that become channels, and images of one pixel.
    ("2x2x4x6", "2x2x2x2x3x2", [0, 3, 5, 1, 2, 4], "2x8x2x3"),
    ("1x8x1x1", "2x4", [1, 0], "1x8x1x1"),
    ("1x8x1x1", "2x2x2", [1, 2, 0], "1x2x2x2"),
]
"""Images, their axes split, the permutation of those, and images of the result."""


@pytest.mark.parametrize(("shape", "split", "permutation", "result"), SHUFFLES)
@pytest.mark.parametrize("is_computed", [True, False])
def test_shuffles_move_rows(
    shape: str, split: str, permutation: Sequence[int], result: str, is_computed: bool
):
    extents = split.split("x")
    moved = "x".join(extents[axis] for axis in permutation)
    x, s, m, y = (f"tensor<{each}xf32>" for each in (shape, split, moved, result))
    channels = shape.split("x")[1]
    w = f"tensor<{channels}x{channels}x1x1xf32>"
    text = network(
        f"%x: {x}, %w: {w}",
        f"%y: {y}",
        f"%0 = graph.conv2d %x, %w : ({x}, {w}) -> {x}",
        *([] if is_computed else [f"%p = graph.tanh %0 : {x}"]),
        f"%1 = graph.reshape {'%0' if is_computed else '%p'} : ({x}) -> {s}",
        f"%2 = graph.transpose %1 permutation {permutation} : ({s}) -> {m}",
        f"%y = graph.reshape %2 : ({m}) -> {y}",
    )
    rows = [op for op in check(text).walk() if isinstance(op, graph.Im2colOp)]
    # The rows of the argument are its own if every image is one pixel. Those of a
    # product are written where they belong.
    assert len(rows) == (not shape.endswith("x1x1")) + (not is_computed)


def test_products_write_shuffled_pixels():
    x, s, m = (
        "tensor<2x8x3x5xf32>",
        "tensor<2x2x2x2x3x5xf32>",
        "tensor<2x2x3x2x5x2xf32>",
    )
    b, y = "tensor<2x1x1xf32>", "tensor<2x2x6x10xf32>"
    w = "tensor<8x8x1x1xf32>"
    text = network(
        f"%x: {x}, %w: {w}, %b: {b}",
        f"%y: {y}",
        f"%0 = graph.conv2d %x, %w : ({x}, {w}) -> {x}",
        f"%1 = graph.reshape %0 : ({x}) -> {s}",
        f"%2 = graph.transpose %1 permutation [0, 1, 4, 2, 5, 3] : ({s}) -> {m}",
        f"%3 = graph.reshape %2 : ({m}) -> {y}",
        f"%y = graph.add %3, %b : ({y}, {b}) -> {y}",
    )
    module = check(text, "graph-pipeline")
    (product,) = (op for op in module.walk() if isinstance(op, graph.ContractOp))
    assert product.result.type.get_shape() == (2, 2, 3, 2, 5, 2)
    (total,) = (op for op in module.walk() if isinstance(op, graph.AddOp))
    assert product.result in total.operands


def test_statistics_of_lines_are_computed_with_channels_first():
    x, w, m = "tensor<2x8x5x6xf32>", "tensor<8x8x3x3xf32>", "tensor<2x8x5x1xf32>"
    text = network(
        f"%x: {x}, %w: {w}",
        f"%y: {x}",
        f"%0 = graph.conv2d %x, %w padding [1, 1, 1, 1] : ({x}, {w}) -> {x}",
        f"%1 = graph.tanh %0 : {x}",
        f"%m = graph.reduce %1 <max> axes [3] keepdims : ({x}) -> {m}",
        f"%y = graph.sub %1, %m : ({x}, {m}) -> {x}",
    )
    module = check(text)
    (difference,) = (op for op in module.walk() if isinstance(op, graph.SubOp))
    assert difference.result.type.get_shape() == (2, 8, 5, 6)


@pytest.mark.parametrize("fill", ["0.0", "1.5", "-inf", "nan", "300.0"])
@pytest.mark.parametrize("element", ["i8", "i1", "f16", "bf16"])
def test_casts_of_gathers_keep_what_lies_outside(element: str, fill: str):
    x, w = "tensor<2x4x5x5xf32>", "tensor<4x4x1x1xf32>"
    u, c = "tensor<2x28x5xf32>", f"tensor<2x28x5x{element}>"
    text = network(
        f"%x: {x}, %w: {w}",
        f"%y: {x}, %c: {c}",
        f"%y = graph.conv2d %x, %w : ({x}, {w}) -> {x}",
        "%u = graph.im2col %x map affine_map<(n, c, h, w) -> (n, c, h - 1, w)> "
        f"basis [[2], [4, 7], [5]] fill {fill} : ({x}) -> {u}",
        f"%c = graph.cast %u : ({u}) -> {c}",
    )
    module = check(text)
    (cast,) = (op for op in module.walk() if isinstance(op, graph.CastOp))
    assert isinstance(cast.operand.owner, graph.Im2colOp) == (fill != "0.0")


def test_gathers_of_single_elements_stay():
    x, w, u = "tensor<1x1x1x1xf32>", "tensor<1x1x1x1xf32>", "tensor<1x1x2x2xf32>"
    text = network(
        f"%x: {x}, %w: {w}",
        f"%u: {u}",
        f"%0 = graph.conv2d %x, %w : ({x}, {w}) -> {x}",
        "%u = graph.im2col %0 map affine_map<(n, c, h, w) -> (n, c, h - 1, w)> "
        f"basis [[1], [1], [2], [2]] fill 7.0 : ({x}) -> {u}",
    )
    check(text)


GROUPED = """
func.func @main(%x: tensor<1x4x4x4x4xf32>, %w: tensor<4x4x1x1x1xf32>)
    -> tensor<1x4x2x2x2xf32> {
  %0 = graph.conv3d %x, %w : (tensor<1x4x4x4x4xf32>, tensor<4x4x1x1x1xf32>)
      -> tensor<1x4x4x4x4xf32>
  %y = graph.group ins(%a = %0, %v = %w : tensor<1x4x4x4x4xf32>, tensor<4x4x1x1x1xf32>)
      -> (tensor<1x4x2x2x2xf32>) {
    %1 = graph.conv3d %a, %v : (tensor<1x4x4x4x4xf32>, tensor<4x4x1x1x1xf32>)
        -> tensor<1x4x4x4x4xf32>
    %2 = graph.max_pool3d %1 kernel [2, 2, 2] strides [2, 2, 2]
        : (tensor<1x4x4x4x4xf32>) -> tensor<1x4x2x2x2xf32>
    graph.yield %2 : tensor<1x4x2x2x2xf32>
  }
  func.return %y : tensor<1x4x2x2x2xf32>
}
"""


def test_windows_of_groups_are_decomposed():
    module = check(GROUPED, DECOMPOSED)
    assert not count(module, WindowRowsInterface)
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    assert not any(isinstance(op, graph.Im2colOp) for op in group.body.walk())


PLANNED = """
func.func @main(%x: tensor<1x8x9x9xf32>, %w: tensor<8x8x1x1xf32>)
    -> tensor<1x8x7x7xf32> {
  %0 = graph.conv2d %x, %w : (tensor<1x8x9x9xf32>, tensor<8x8x1x1xf32>)
      -> tensor<1x8x9x9xf32>
  %y = graph.group ins(%a = %0 : tensor<1x8x9x9xf32>)
      plan #graph.plan<L1, tile [1, 8, 7, 7]> -> (tensor<1x8x7x7xf32>) {
    %1 = graph.max_pool2d %a kernel [3, 3] : (tensor<1x8x9x9xf32>)
        -> tensor<1x8x7x7xf32>
    graph.yield %1 : tensor<1x8x7x7xf32>
  }
  func.return %y : tensor<1x8x7x7xf32>
}
"""


def test_planned_groups_stay():
    module = check(PLANNED, DECOMPOSED)
    assert not count(module, graph.Conv2dOp)
    (pool,) = (op for op in module.walk() if isinstance(op, graph.MaxPool2dOp))
    assert isinstance(pool.parent_op(), graph.GroupOp)


def test_functions_are_rewritten_one_by_one():
    x, w, y = "tensor<1x8x4x4xf32>", "tensor<8x8x1x1xf32>", "tensor<1x8x2x2xf32>"
    text = f"""
func.func @main(%x: {x}, %w: {w}) -> {x} {{
  %y = graph.conv2d %x, %w : ({x}, {w}) -> {x}
  func.return %y : {x}
}}
func.func @pool(%x: {x}) -> {y} {{
  %y = graph.max_pool2d %x kernel [2, 2] strides [2, 2] : ({x}) -> {y}
  func.return %y : {y}
}}
func.func private @declared({x}) -> {x}
"""
    module = convert(text)
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    gathers = [count(each, graph.Im2colOp) for each in functions]
    assert gathers == [1, 1, 0]
    assert not any(isinstance(op, WindowRowsInterface) for op in module.walk())


@pytest.mark.parametrize("target", ["npu", "npu-tiny"])
def test_targets_without_such_loads_keep_their_images(target: str):
    text = network(f"%x: {X}, %w: {W}", f"%0: {X}", padded_convolution("%0", "%x"))
    assert str(convert(text, ALONE, target)) == str(convert(text, "tidy", target))


def test_the_numerics_of_a_program_stay():
    text = network(f"%x: {X}, %w: {W}", f"%0: {X}", padded_convolution("%0", "%x"))
    text = f'module attributes {{tlf.numerics = "relaxed"}} {{\n{text}}}'
    module = check(text)
    assert str(module.attributes["tlf.numerics"]) == '"relaxed"'


@pytest.mark.parametrize("precision", ["tf32", "ieee"])
def test_products_keep_their_precision(precision: str):
    x, w = "tensor<1x8x5x5xf32>", "tensor<8x8x3x3xf32>"
    y = "tensor<1x8x3x3xf32>"
    text = network(
        f"%x: {x}, %w: {w}",
        f"%y: {y}",
        f'%y = graph.conv2d %x, %w precision "{precision}" : ({x}, {w}) -> {y}',
    )
    (product,) = (op for op in convert(text).walk() if isinstance(op, graph.ContractOp))
    assert product.precision == precision


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("groups", [1, 2, 8])
def test_results_are_rounded_by_casts(groups: int, element: str):
    x, y = f"tensor<1x8x3x4x4x{element}>", f"tensor<1x8x2x3x3x{element}>"
    w = f"tensor<8x{8 // groups}x2x2x2x{element}>"
    text = network(
        f"%x: {x}, %w: {w}",
        f"%y: {y}",
        f"%y = graph.conv3d %x, %w groups {groups} : ({x}, {w}) -> {y}",
    )
    module = check(text, DECOMPOSED)
    kind = graph.ReduceOp if groups == 8 else graph.ContractOp
    (total,) = (op for op in module.walk() if isinstance(op, kind))
    assert element_type_of_value(total.results[0]) == f32
    assert count(module, graph.CastOp) == (3 if groups == 8 else 1)
