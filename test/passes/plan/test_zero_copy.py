"""The examples, put together from tiles without a copy."""

from pathlib import Path

import pytest
from differential import limit_search, parsed, steps_of
from xdsl.dialects import func

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.graph import remarks_of
from tlf.dialects.target import load_target_spec
from tlf.dialects.weight_preparation_attributes import PREPARES
from tlf.passes.report.mem_report_copies import NO_COPIES, MemReportCopiesPass
from tlf.passes.report.tile_verify_coverage import ATTRIBUTE, TileVerifyCoveragePass

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.mlir"))
ROLLING = "rolling_bottleneck"
"""Triton has no windows that roll."""


@pytest.mark.one_in(12)
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "h200"])
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples(file: Path, target: str):
    if file.stem == ROLLING and target == "h200":
        pytest.skip("not for this target")
    context, module = parsed(file.read_text(encoding="utf-8"))
    description = load_target_spec(target)
    description.attach_to_module(module)
    passes = tuple(map(limit_search, steps_of(description)))
    names = [each.name for each in passes]
    tiles = names.index("convert-tile-to-mem")
    last = names.index(f"convert-mem-to-{description.backend}")

    PassManager(passes[:tiles]).run(context, module)
    TileVerifyCoveragePass().apply(context, module)
    PassManager(passes[tiles:last]).run(context, module)
    MemReportCopiesPass().apply(context, module)

    functions = [op for op in module.walk() if isinstance(op, func.FuncOp)]
    # Weights that are only reshaped are copied once, ahead of all calls.
    called = [each for each in functions if PREPARES not in each.attributes]
    assert called
    for function in called:
        remarks = remarks_of(function)
        copies = [each for each in remarks if each.source.data == "mem-report-copies"]
        assert [each.text.data for each in copies] == [NO_COPIES]
        assert ATTRIBUTE in function.attributes
