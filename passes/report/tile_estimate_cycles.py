"""Pass `tile-estimate-cycles`: estimates the cycles of a program of tiles."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from tlf.dialects.graph.remark import add_remark
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.npu.npu_estimator import has_timing_model
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.cycle_estimate import CycleEstimate, estimate_function

ATTRIBUTE = "tlf.predicted"
"""Attribute of a function for its predicted time."""


@dataclass(frozen=True)
class TileEstimateCyclesPass(ModulePass):
    """
    Give every function of tiles the attribute `tlf.predicted`: the cycles that it will
    take on an NPU, and the bytes that it moves from and to the outermost memory.

    All groups must have become loops, for every level that tiles are brought to. The
    loops, moves and computation run on the event model that the simulator executes,
    with the slots, early loads and places that later passes will give them. Functions
    whose time cannot be told get a remark, and targets without such a model nothing.
    The program computes what it did.
    """

    name = "tile-estimate-cycles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.of(op)
        if not has_timing_model(target):
            return
        for function in op.ops:
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            try:
                function.attributes[ATTRIBUTE] = _estimate_attribute(
                    estimate_function(function, target)
                )
            except UnpredictableTimeError as error:
                first = function.body.block.first_op
                assert first is not None
                add_remark(first, self.name, "missed", f"time unknown: {error}")


def _estimate_attribute(prediction: CycleEstimate) -> DictionaryAttr:
    return DictionaryAttr(
        {
            "bytes": IntegerAttr(prediction.bytes, i64),
            "cycles": IntegerAttr(prediction.cycles, i64),
        }
    )
