"""
Pass `tile-verify-coverage`: proves that tiles cover their results, without overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.affine_loops.tile_coverage import Destination, TileCoverage
from tlf.analysis.affine_loops.write_counts import UncountedError
from tlf.dialects import graph
from tlf.dialects.graph.remark import RemarkKind

ATTRIBUTE = "tlf.stitched"
"""The attribute of a function that is proven: of how many tiles each result is made."""

COVERED_ONCE = "tiles write every element once"
COVERED_IN_ORDER = (
    "tiles write every element, later iterations in order over earlier ones"
)
DISJOINT_TILES = "tiles write into a tensor that is there, apart from each other"


class CoverageError(PassFailedException):
    """Tiles overlap, or leave out elements. `op` is the operation at fault."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op


@dataclass
class _CoverageProver:
    """Coverage proof of one function."""

    function: func.FuncOp

    def certify_function(self) -> None:
        """
        Certify the function, or emit remarks on what cannot be proven. Raises
        `CoverageError`.
        """
        self.function.attributes.pop(ATTRIBUTE, None)
        self.stitching = TileCoverage.of(self.function)
        if not self.stitching.destinations:
            return
        proven = [self._is_proven_covered(each) for each in self.stitching.destinations]
        results = [self._is_complete(each) for each in self._function_results()]
        if all(proven) and all(results) and results:
            tiles = [
                IntegerAttr(self.stitching.count_tiles(each), i64)
                for each in self._function_results()
            ]
            self.function.attributes[ATTRIBUTE] = ArrayAttr(tiles)

    def _function_results(self) -> Iterator[SSAValue]:
        last = self.function.body.block.last_op
        operands = () if last is None else last.operands
        yield from (each for each in operands if isinstance(each.type, TensorType))

    def _is_proven_covered(self, destination: Destination) -> bool:
        """
        Return `True` if the tiles of a tensor are proven to be disjoint, and to cover
        it. Raises `CoverageError` if parallel iterations write the same element.
        """
        nest, found = destination.nest, destination.conflict
        if destination.unknown is not None:
            self._emit_remark(nest, "missed", f"cannot prove: {destination.unknown}")
            return False
        if found is not None and found.is_parallel:
            raise CoverageError(
                found.access.op, f"expected tiles apart from each other, got: {found}"
            )
        if not all([self._is_complete(each) for each in destination.sources]):
            return False
        if not destination.is_new:
            self._emit_remark(nest, "passed", DISJOINT_TILES)
            return True
        if not self._is_complete(self.stitching.final_value_of(destination.result)):
            return False
        self._emit_remark(
            nest, "passed", COVERED_ONCE if found is None else COVERED_IN_ORDER
        )
        return True

    def _is_complete(self, value: SSAValue) -> bool:
        """
        Return `True` if all elements of a tensor are written. Raises `CoverageError`
        for a result of the function with an element that is not.
        """
        owner = value.owner
        op = owner if isinstance(owner, Operation) else self.function
        try:
            element = self.stitching.find_missing(value)
        except UncountedError as reason:
            self._emit_remark(op, "missed", f"cannot prove: {reason}")
            return False
        if element is None:
            return True
        place = ", ".join(str(each) for each in element)
        if value in self._function_results():
            raise CoverageError(
                op, f"expected tiles that cover the result, got none at [{place}]"
            )
        self._emit_remark(op, "missed", f"cannot prove: no tile is put at [{place}]")
        return False

    @staticmethod
    def _emit_remark(op: Operation, kind: RemarkKind, text: str) -> None:
        graph.add_remark(op, TileVerifyCoveragePass.name, kind, text)


@dataclass(frozen=True)
class TileVerifyCoveragePass(ModulePass):
    """
    Prove that tiles make up what they are put into, so that none needs to be copied.

    For every tensor that nests of `tile.while` put tiles into, whatever their depth,
    boxes are counted exactly, clipped to the tensor: parallel iterations write apart,
    and no element is left out of a new tensor. Functions of which all is proven get the
    attribute `tlf.stitched`. It is an error where parallel iterations write the same
    element, which are then named, and where an element of a result is left out. What
    cannot be proven is a remark.
    """

    name = "tile-verify-coverage"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _CoverageProver(function).certify_function()
