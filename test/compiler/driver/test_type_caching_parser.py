"""Types that are remembered by their text are those that xDSL's parser reads."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.located_parser import LocatedParser
from tlf.compiler.driver.type_caching_parser import TypeCachingParser

TYPES = [
    "tensor<4x8xf32>",
    "tensor<4x8xf32>  // a comment >",
    "tensor< 4x\n8xf32 >",
    "tensor<f32>",
    "tensor<?x8xbf16>",
    "tensor<*xf32>",
    "tensor<16x64xf32, #tile.encoding<L1>>",
    "tensor<16x64xf32, #tile.encoding<L1, layout = [1, 0]>>",
    "vector<4xi1>",
    "memref<4x8xf32>",
    'memref<4x8xf32, "L1">',
    'memref<4x8xf32, ">">',
    "memref<4x8xf32, strided<[8, 1], offset: -1>>",
    "memref<4x8xf32, strided<[8, 1], offset: ?>, 1 : i32>",
    "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>",
    "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>, 2 : i32>",
    "memref<4x8xf32, #swapped>",
    "tensor<4x!element>",
    "tuple<tensor<4xf32>, tuple<tensor<4xf32>>>",
    "complex<f32>",
]

ALIASES = "#swapped = affine_map<(d0, d1) -> (d1, d0)>\n!element = f16\n"


def program(types: list[str]) -> str:
    """A program that names every type several times, and in every place."""
    lines = [
        f'%{number} = "test.op"() {{a = {type_}\n}} : () -> {type_}\n'
        f'"test.op"(%{number}) ({{\n^bb0(%arg: {type_}\n):\n}}) : ({type_}\n) -> ()'
        for number, type_ in enumerate(types)
    ]
    return ALIASES + "\n".join(lines)


def read(parser: type[Parser], text: str) -> ModuleOp:
    return parser(new_context(), text, "program.mlir").parse_module()


@pytest.mark.parametrize("type_", TYPES)
def test_one_type(type_: str):
    text = program([type_, type_])
    assert read(LocatedParser, text).is_structurally_equivalent(read(Parser, text))


def test_all_types_together():
    text = program(TYPES + TYPES[::-1])
    assert read(LocatedParser, text).is_structurally_equivalent(read(Parser, text))


def test_a_type_is_read_once():
    module = read(LocatedParser, program(["tensor<4x8xf32>"] * 2))
    types = [result.type for op in module.ops for result in op.results]
    assert len(types) == 2
    assert types[0] is types[1]


FUNCTION_TYPES = [
    "(tensor<4xf32>) -> tensor<4xf32>",
    "(tensor<4xf32>, tensor<8xf32, #tile.encoding<L1>>) -> tensor<4xf32>",
    "(tensor<4xf32>) -> (tensor<4xf32>, vector<2xi1>)",
    "(tensor<4xf32>,tensor<8xf32>)->tensor<4xf32>",
    "(tensor<4xf32>) // a comment\n -> tensor<4xf32>",
    "() -> tensor<4xf32>",
    "(index) -> ()",
    "((tensor<4xf32>) -> tensor<4xf32>) -> tensor<4xf32>",
]


@pytest.mark.parametrize("type_", FUNCTION_TYPES)
def test_function_types_are_those_of_xdsl(type_: str):
    lines = [f'"test.op"() {{a = {type_}, b = {type_}\n, c = 1}} : () -> ()'] * 2
    text = "\n".join(lines)
    assert read(LocatedParser, text).is_structurally_equivalent(read(Parser, text))


def test_a_function_type_is_read_once():
    text = (
        f'"test.op"() {{a = {FUNCTION_TYPES[1]}, b = {FUNCTION_TYPES[1]}}} : () -> ()'
    )
    (op,) = read(LocatedParser, text).ops
    assert op.attributes["a"] is op.attributes["b"]


@pytest.mark.parametrize(
    "type_", ["tensor<4x8xf33>", "tensor<4x8xf32", "tensor<4x-8xf32>", "tensor<>>"]
)
def test_wrong_types_are_as_wrong_the_second_time(type_: str):
    for text in (program([type_]), program(["tensor<4x8xf32>", type_])):
        with pytest.raises(ParseError) as expected:
            read(Parser, text)
        with pytest.raises(ParseError) as found:
            read(TypeCachingParser, text)
        assert found.value.msg == expected.value.msg
        assert found.value.span.start == expected.value.span.start
