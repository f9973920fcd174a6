"""`tlf-cse` on random programs, against evaluating them; and on many equal loops."""

import random
from collections.abc import Sequence
from time import process_time

import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.source import Source
from tlf.passes.graph.cse import CsePass


def module_of(body: Sequence[str], returned: Sequence[str]) -> ModuleOp:
    types = ", ".join(["i32"] * len(returned))
    lines = "\n".join(body)
    text = f"""
        func.func @f(%a: i32, %b: i32, %n: index) -> ({types}) {{
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          {lines}
          func.return {", ".join(returned)} : {types}
        }}
    """
    return parse_module(new_context(), Source(text, "random.mlir"))


def run(module: ModuleOp) -> int:
    """Run the pass; return how many operations it took away."""
    before = sum(1 for _ in module.walk())
    PassManager([CsePass()]).run(new_context(), module)
    return before - sum(1 for _ in module.walk())


def evaluate(module: ModuleOp, a: int, b: int) -> list[int]:
    """The results of `@f` on numbers."""
    function = next(iter(module.ops))
    assert isinstance(function, func.FuncOp)
    values: dict[SSAValue, int] = dict(
        zip(function.body.block.args, (a, b, 0), strict=True)
    )
    for op in function.body.block.ops:
        match op:
            case arith.AddiOp():
                values[op.result] = values[op.lhs] + values[op.rhs]
            case arith.SubiOp():
                values[op.result] = values[op.lhs] - values[op.rhs]
            case arith.MuliOp():
                values[op.result] = values[op.lhs] * values[op.rhs]
            case _:
                pass
    op = function.body.block.last_op
    assert isinstance(op, func.ReturnOp)
    return [values[operand] for operand in op.operands]


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(20))
def test_results_stay(seed: int):
    draw = random.Random(seed)
    values = ["%a", "%b"]
    body: list[str] = []
    for number in range(40):
        operation = draw.choice(["addi", "subi", "muli"])
        x, y = draw.choice(values[:6]), draw.choice(values[:6])
        body.append(f"%v{number} = arith.{operation} {x}, {y} : i32")
        values.append(f"%v{number}")
    module = module_of(body, draw.sample(values, 10))
    expected = evaluate(module, 3, -5)

    assert run(module) > 0
    assert evaluate(module, 3, -5) == expected
    assert run(module) == 0


def test_many_equal_loops_take_linear_time():
    loop = """
        %r{0} = scf.for %i{0} = %zero to %n step %one iter_args(%s{0} = %a) -> (i32) {{
          %t{0} = arith.addi %s{0}, %b : i32
          %u{0} = arith.{1} %t{0}, %b : i32
          scf.yield %u{0} : i32
        }}
    """

    def seconds(count: int) -> float:
        body = [loop.format(i, ["addi", "muli"][i % 2]) for i in range(count)]
        module = module_of(body, [f"%r{i}" for i in range(count)])
        start = process_time()
        CsePass().apply(new_context(), module)
        spent = process_time() - start
        assert str(module).count("scf.for") == 2
        return spent

    seconds(10)
    assert seconds(800) < 12 * seconds(200)
