"""Changes of many products are evaluated on one grouping of their block."""

import pytest
from differential import parsed
from xdsl.ir import Block

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.product_precision import IEEE
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.planner.fusion.block_grouping import Groups

COUNT = 6


def chain_of_products() -> str:
    """Return a program of products of few tiles with a tanh between them."""
    maps = ", ".join(
        f"affine_map<(i, j, k) -> {each}>" for each in ("(i, k)", "(j, k)", "(i, j)")
    )
    x, w = "tensor<784x128xf32>", "tensor<128x128xf32>"
    arguments = ", ".join(f"%w{n}: {w} {{tlf.parameter}}" for n in range(COUNT))
    lines = [
        f"%y{n} = graph.contract {f'%t{n - 1}' if n else '%x'}, %w{n} maps [{maps}] "
        f'precision "bf16x6" : ({x}, {w}) -> {x}\n%t{n} = graph.tanh %y{n} : {x}\n'
        for n in range(COUNT)
    ]
    return (
        f"func.func @main(%x: {x}, {arguments}) -> {x} {{\n{''.join(lines)}"
        f"func.return %t{COUNT - 1} : {x}\n}}"
    )


def test_block_is_grouped_once(monkeypatch: pytest.MonkeyPatch):
    context, module = parsed(chain_of_products())
    load_target_spec("h200").attach_to_module(module)
    grouped: list[Block] = []
    group_block = ChangeEvaluator.groups_of_block

    def count_groupings(self: ChangeEvaluator, block: Block) -> Groups:
        if sum(isinstance(op, graph.ContractOp) for op in block.ops) > 1:
            grouped.append(block)
        return group_block(self, block)

    monkeypatch.setattr(ChangeEvaluator, "groups_of_block", count_groupings)
    passes = build_passes("graph-select-precision", PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    products = [op for op in module.walk() if isinstance(op, graph.ContractOp)]
    assert [op.precision for op in products] == [IEEE] * COUNT
    assert len(grouped) == 1
