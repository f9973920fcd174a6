"""
Pass `tile-estimate-cycles`: sets the estimated cycles of functions of tiles as
attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from tlf.dialects.graph.remark_attribute import add_remark
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.npu.npu_estimator import has_timing_model
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.cycle_estimate import (
    CycleEstimate,
    estimate_function_cycles,
)

ATTRIBUTE = "tlf.predicted"
"""Attribute of a function with its estimated cycles and bytes."""


@dataclass(frozen=True)
class TileEstimateCyclesPass(ModulePass):
    """
    Set the attribute `tlf.predicted` of every function of tiles: the estimated cycles
    on an NPU, and the bytes moved from and to the outermost memory.

    All groups must be lowered to loops for every tile level. The loops, moves and
    computations run on the event model of the simulator, with the slots, prefetch
    distances and addresses that later passes will assign. Functions that cannot be
    estimated get a remark. For targets without an event model, the pass does nothing.
    Operations are not changed.
    """

    name = "tile-estimate-cycles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        if not has_timing_model(target):
            return
        for function in op.ops:
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            try:
                function.attributes[ATTRIBUTE] = _attribute_of_estimate(
                    estimate_function_cycles(function, target)
                )
            except UnpredictableTimeError as error:
                first = function.body.block.first_op
                assert first is not None
                add_remark(first, self.name, "missed", f"time unknown: {error}")


def _attribute_of_estimate(prediction: CycleEstimate) -> DictionaryAttr:
    """Return the estimated cycles and outermost bytes as a dictionary attribute."""
    return DictionaryAttr(
        {
            "bytes": IntegerAttr(prediction.outer_bytes, i64),
            "cycles": IntegerAttr(prediction.cycles, i64),
        }
    )
