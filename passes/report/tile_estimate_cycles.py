"""Predict the time of a program of tiles."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from tlf.dialects.graph.remark import remark
from tlf.dialects.target import Target
from tlf.planner.cost.npu.timed import is_timed
from tlf.planner.cost.program.indices import UnknownTimeError
from tlf.planner.cost.program.prediction import Prediction, predict

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
        target = Target.of(op)
        if not is_timed(target):
            return
        for function in op.ops:
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            try:
                function.attributes[ATTRIBUTE] = _attribute(predict(function, target))
            except UnknownTimeError as error:
                first = function.body.block.first_op
                assert first is not None
                remark(first, self.name, "missed", f"time unknown: {error}")


def _attribute(prediction: Prediction) -> DictionaryAttr:
    return DictionaryAttr(
        {
            "bytes": IntegerAttr(prediction.bytes, i64),
            "cycles": IntegerAttr(prediction.cycles, i64),
        }
    )
