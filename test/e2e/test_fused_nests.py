"""Random programs whose nests are fused: certified, interpreted, and run."""

import pytest
from differential import (
    disagreement,
    limit_search,
    make_case,
    run_lowered,
    steps_of,
)
from random_chains import random_chain
from random_programs import random_program
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.graph import remarks_of
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.report.tile_verify_coverage import ATTRIBUTE, TileVerifyCoveragePass
from tlf.passes.tile.tile_fuse_loops import TileFuseLoopsPass

MAKERS = {"program": random_program, "chain": random_chain}


def functions(module: ModuleOp) -> list[func.FuncOp]:
    """The functions of a module."""
    return [op for op in module.walk() if isinstance(op, func.FuncOp)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "h200"])
@pytest.mark.parametrize("make", MAKERS)
def test_fused_nests(make: str, target: str):
    description, fused = load_target_spec(target), 0
    for seed in range(4):
        case = make_case(MAKERS[make](seed).text(), seed)
        context, module = case.module()
        description.attach_to_module(module)
        passes = tuple(map(limit_search, steps_of(description)))
        tiles = [each.name for each in passes].index("convert-tile-to-mem")
        PassManager(passes[:tiles]).run(context, module)
        PassManager([TileFuseLoopsPass(), TileVerifyCoveragePass()]).run(
            context, module
        )

        assert all(ATTRIBUTE in op.attributes for op in functions(module))
        assert disagreement(case, interpret(module, case.inputs)) is None
        fused += any(
            (each.source.data, each.kind.data) == ("tile-fuse-loops", "passed")
            for op in functions(module)
            for each in remarks_of(op)
        )
        PassManager([*steps_of(description, "tidy"), *passes[tiles:]]).run(
            context, module
        )
        results = run_lowered(context, module, description, case.inputs)
        assert disagreement(case, results) is None
    assert fused or target == "h200"
