"""
Pass `tile-verify-coverage`: proves that tiles cover their results without overlap.
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
from tlf.dialects.graph.remark_attribute import RemarkKind

ATTRIBUTE = "tlf.stitched"
"""Attribute of a proven function: the number of tiles of each result."""

COVERED_ONCE = "tiles write every element once"
COVERED_IN_ORDER = (
    "tiles write every element, later iterations in order over earlier ones"
)
DISJOINT_TILES = "tiles write disjoint boxes of an existing tensor"


class CoverageError(PassFailedException):
    """
    Error raised if tiles overlap or do not cover a tensor. `op` is the operation at
    fault.
    """

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op


@dataclass
class _CoverageProver:
    """
    Prover that the tiles stored by one function are disjoint and cover its results.
    """

    function: func.FuncOp

    def prove_coverage_of_function(self) -> None:
        """
        Set `tlf.stitched` if all results are proven, and emit remarks otherwise. Raises
        `CoverageError` for overlapping or missing tiles.
        """
        self.function.attributes.pop(ATTRIBUTE, None)
        self.stitching = TileCoverage.of(self.function)
        if not self.stitching.destinations:
            return
        proven = [
            self._is_disjoint_and_covered(each) for each in self.stitching.destinations
        ]
        results = [
            self._has_all_elements_written(each) for each in self._returned_tensors()
        ]
        if all(proven) and all(results) and results:
            tiles = [
                IntegerAttr(self.stitching.count_stored_tiles(each), i64)
                for each in self._returned_tensors()
            ]
            self.function.attributes[ATTRIBUTE] = ArrayAttr(tiles)

    def _returned_tensors(self) -> Iterator[SSAValue]:
        last = self.function.body.block.last_op
        operands = () if last is None else last.operands
        yield from (each for each in operands if isinstance(each.type, TensorType))

    def _is_disjoint_and_covered(self, destination: Destination) -> bool:
        """
        Return `True` if the tiles of a tensor are proven to be disjoint, and to cover
        it. Raises `CoverageError` if parallel iterations write the same element.
        """
        nest, conflict = destination.nest, destination.conflict
        if destination.unknown_reason is not None:
            self._emit_remark(
                nest, "missed", f"cannot prove: {destination.unknown_reason}"
            )
            return False
        if conflict is not None and conflict.is_parallel:
            raise CoverageError(
                conflict.access.op,
                f"expected disjoint tiles, got: {conflict}",
            )
        if not all(
            [self._has_all_elements_written(each) for each in destination.sources]
        ):
            return False
        if not destination.is_new:
            self._emit_remark(nest, "passed", DISJOINT_TILES)
            return True
        if not self._has_all_elements_written(
            self.stitching.tensor_after_all_stores(destination.result)
        ):
            return False
        self._emit_remark(
            nest, "passed", COVERED_ONCE if conflict is None else COVERED_IN_ORDER
        )
        return True

    def _has_all_elements_written(self, value: SSAValue) -> bool:
        """
        Return `True` if all elements of a tensor are written. Raises `CoverageError`
        for a result of the function with an element that is not.
        """
        owner = value.owner
        op = owner if isinstance(owner, Operation) else self.function
        try:
            element = self.stitching.find_uncovered_element(value)
        except UncountedError as reason:
            self._emit_remark(op, "missed", f"cannot prove: {reason}")
            return False
        if element is None:
            return True
        index = ", ".join(str(each) for each in element)
        if value in self._returned_tensors():
            raise CoverageError(
                op, f"expected tiles that cover the result, got none at [{index}]"
            )
        self._emit_remark(
            op, "missed", f"cannot prove: no tile is written at [{index}]"
        )
        return False

    @staticmethod
    def _emit_remark(op: Operation, kind: RemarkKind, remark_text: str) -> None:
        graph.add_remark(op, TileVerifyCoveragePass.name, kind, remark_text)


@dataclass(frozen=True)
class TileVerifyCoveragePass(ModulePass):
    """
    Prove that tiles cover their destination tensors without overlap.

    For every tensor that nests of `tile.while` write tiles into, at any depth, the
    written boxes, clipped to the tensor, are counted exactly: parallel iterations must
    write disjoint boxes, and all elements of a new tensor must be written. Functions
    for which this is proven get the attribute `tlf.stitched`. Parallel iterations that
    write the same element, which are named, and unwritten elements of a result are
    errors. Tensors for which the proof fails get a remark.
    """

    name = "tile-verify-coverage"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp) and function.body.blocks:
                _CoverageProver(function).prove_coverage_of_function()
