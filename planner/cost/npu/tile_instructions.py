"""Cost model of the NPU instructions that compute one tile of an operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute, SSAValue

from tlf.analysis.operations.banded_matmul import (
    BandedMatmul,
    MatmulWork,
    SystolicArray,
    Windows,
)
from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.banded_windows import banded_windows_of
from tlf.analysis.tiling.group_tiling import TiledOperation, count_elements_of_box
from tlf.analysis.work.vector_step_costs import is_multi_step, scalar_steps
from tlf.dialects.interfaces import ElementwiseInterface, TilingInterface
from tlf.dialects.types import tensor_type
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.machine.machine_spec import MatrixEngine
from tlf.planner.cost.npu.matmul_retiling import RetiledWork


class TileInstructions:
    """Cost of computing tiles on a machine with engines named `matrix` and `vector`."""

    def __init__(
        self, costs: InstructionCosts, retiled_work: RetiledWork | None = None
    ) -> None:
        """
        `retiled_work` computes the work of products that are tiled again for an inner
        memory.
        """
        self.costs = costs
        self._bodies: dict[tuple[str, str, str], tuple[bool, ...]] = {}
        self._costs: dict[tuple[int, bool], Cost] = {}
        self._known: dict[OpFacts, tuple[bool, ...]] = {}
        self._products: dict[
            tuple[OpFacts, tuple[int, ...], bool], tuple[MatmulWork, Cost]
        ] = {}
        self._product_kinds: dict[Attribute, str] = {}
        self._cut = retiled_work
        self._array = SystolicArray.of(costs.machine)

    def instruction_costs_of(self, tiled: TiledOperation) -> Iterator[Cost]:
        """
        Yield the costs of a tile's instructions, in order, without an initial fill.
        """
        op, facts = tiled.op, tiled.facts
        if facts.is_buffer_view:
            return
        if facts.is_product:
            yield self.product_cost_of(tiled)
        elif facts.is_accumulating:
            yield self.cost_of_elementwise(count_elements_of_box(tiled.box))
        elif facts.is_elementwise:
            count = self._compute_costs_of(tiled)
            for slow in self._slow_operation_flags(op, facts):
                yield self.cost_of_elementwise(count, slow)
        else:
            yield self.cost_of_elementwise(self._compute_costs_of(tiled))

    def constant_fill_costs_of(self, tiled: TiledOperation) -> Iterator[Cost]:
        """
        Yield the cost of filling the tile of a constant that is a result of a group.
        """
        yield self.cost_of_elementwise(count_elements_of_box(tiled.result))

    def _compute_costs_of(self, tiled: TiledOperation) -> int:
        return count_elements_of_box(tiled.computed_box)

    def cost_of_elementwise(self, count: int, is_slow: bool = False) -> Cost:
        """
        Return the cost of a vector instruction on `count` elements, cached by its
        arguments.
        """
        key = count, is_slow
        if (known := self._costs.get(key)) is None:
            known = self._costs[key] = self.costs.cost_of_elementwise(*key)
        return known

    def matmul_work_of(self, tiled: TiledOperation) -> MatmulWork:
        """
        Return the matrix product that computes a tile of a contraction, without padding
        unless it is a banded one.
        """
        extents, windows = self.product_tile_of(tiled)
        padded, _ = self.product_of_extents(tiled, extents, windows)
        plain = MatmulWork.of_iterators(tiled.facts.iterator_roles, extents)
        return plain if padded.k == plain.k else padded

    def product_cost_of(self, tiled: TiledOperation) -> Cost:
        """Return the cost of the matrix product of a tile."""
        return self.product_of_extents(tiled, *self.product_tile_of(tiled))[1]

    @staticmethod
    def product_tile_of(
        tiled: TiledOperation,
    ) -> tuple[tuple[int, ...], Windows | None]:
        """Return the extents of a tile of a product, and windows for banded matmuls."""
        extents = tuple([interval.tile_extent for interval in tiled.box])
        return extents, banded_windows_of(tiled.op, tiled.box, tiled.facts)

    def product_of_extents(
        self, tiled: TiledOperation, extents: tuple[int, ...], windows: Windows | None
    ) -> tuple[MatmulWork, Cost]:
        """
        Return the matrix product of a tile of some extents and its cost, cached by
        extents.
        """
        key = tiled.facts, extents, windows is None
        if (known := self._products.get(key)) is None:
            work = self._matmul_work_of(tiled.facts.iterator_roles, extents, windows)
            kind = self._product_kind_of(tiled.op.operands[0])
            known = work, self.costs.cost_of_fastest_matmul(*work, kind=kind)
            self._products[key] = known
        return known

    def cycles_of_array_step(self, factor: SSAValue) -> float:
        """Return the cycles of a pass of the array over one step of a reduction."""
        unit = self.costs.machine.engines["matrix"]
        assert isinstance(unit, MatrixEngine)
        return unit.cycles[self._product_kind_of(factor)]

    def _product_kind_of(self, factor: SSAValue) -> str:
        """
        Return the kind of a product by the element type of its factors; the slowest
        kind for a type that the matrix engine lacks, which is rejected later.
        """
        element = tensor_type(factor).element_type
        if (known := self._product_kinds.get(element)) is None:
            unit = self.costs.machine.engines["matrix"]
            assert isinstance(unit, MatrixEngine)
            known, cycles = str(element), unit.cycles
            if known not in cycles:
                known = max(cycles, key=cycles.__getitem__)
            self._product_kinds[element] = known
        return known

    def _matmul_work_of(
        self, roles: Sequence[str], extents: Sequence[int], windows: Windows | None
    ) -> MatmulWork:
        """Return the matrix product of a tile, as a banded matmul if that is faster."""
        if (array := self._array) is None:
            return MatmulWork.of_iterators(roles, extents)
        if self._cut is not None:
            return self._cut(roles, extents, windows, array)
        bands = (
            None
            if windows is None
            else BandedMatmul.find_fastest(windows, extents, array)
        )
        return (
            MatmulWork.of_iterators(roles, extents)
            if bands is None
            else bands.banded_work
        )

    def _slow_operation_flags(
        self, op: TilingInterface, facts: OpFacts
    ) -> tuple[bool, ...]:
        """Return a flag for each scalar operation of a body, `True` if it is slow."""
        if (known := self._known.get(facts)) is not None:
            return known
        assert isinstance(op, ElementwiseInterface)
        types = [tensor_type(each).element_type for each in op.operands]
        result = str(tensor_type(op.results[0]).element_type)
        key = op.name, " ".join(map(str, types)), f"{result} {op.properties}"
        if key not in self._bodies:
            self._bodies[key] = tuple(map(is_multi_step, scalar_steps(op)))
        self._known[facts] = self._bodies[key]
        return self._bodies[key]
