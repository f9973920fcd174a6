"""Build the factors that running sums are corrected by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.passes.cascades.formula import After, Apply, Before, Formula

OPERATIONS: Mapping[str, type[Operation]] = {
    "add": graph.AddOp,
    "sub": graph.SubOp,
    "mul": graph.MulOp,
    "div": graph.DivOp,
    "exp": graph.ExpOp,
}


@dataclass(frozen=True)
class CorrectionBuilder:
    """Builds formulae of tiles, in the element type of a program."""

    program: TensorProgram
    before: Mapping[SSAValue, SSAValue]
    """The tiles of what steps had accumulated before an iteration."""
    after: Mapping[SSAValue, SSAValue]
    """The tiles of what they have accumulated now."""

    def build(self, formula: Formula) -> SSAValue:
        """The tile that a formula stands for."""
        match formula:
            case Before(value):
                return self.program.widened(self.before[value])
            case After(value):
                return self.program.widened(self.after[value])
            case Apply(name, operands):
                made = OPERATIONS[name](*map(self.build, operands))
                return self.program.insert(made)
            case _:
                return self.program.number(formula)
