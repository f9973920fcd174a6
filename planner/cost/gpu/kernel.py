"""A tiled group as the programs of one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import Operation

from tlf.analysis.tiling.model import GroupTiling
from tlf.dialects.target import Target
from tlf.planner.cost.gpu.arithmetic import Arithmetic
from tlf.planner.cost.gpu.busy import Busy
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.price import Price, Work, price_of
from tlf.planner.cost.gpu.programs import Programs
from tlf.planner.cost.gpu.resources import Needs, Resources

STAGES = 3
"""Iterations in flight of loops around matrix products that say nothing themselves."""

TOGETHER = 1.15
"""
Slowdown of fused reductions in one loop that the model does not explain: measured with
the programs of `bench/cascade_forms.py`.
"""


@dataclass
class Kernels:
    """Prices tiled groups as kernels of a GPU."""

    chip: Chip
    target: Target
    _needs: Needs | None = field(init=False, default=None)
    """Of the tiling that was asked for last."""
    _programs: Programs | None = field(init=False, default=None)
    """Likewise."""
    _steps: dict[Operation, Busy] = field(
        init=False, default_factory=dict[Operation, Busy]
    )
    _kinds: dict[Operation, str] = field(
        init=False, default_factory=dict[Operation, str]
    )

    def price(self, tiling: GroupTiling, stages: int = 1) -> Price:
        """Return the price of a group; `stages` are those of its plan."""
        found = price_of(self.work(tiling, stages), self.chip)
        if tiling.cascade is None:
            return found
        return replace(found, cycles=found.cycles * TOGETHER)

    def resources(self, tiling: GroupTiling, stages: int = 1) -> Resources:
        """Return the resources of one program."""
        return self.needs(tiling).resources(self._stages(tiling, stages))

    def needs(self, tiling: GroupTiling) -> Needs:
        """Return the resources of programs by the number of iterations in flight."""
        if self._needs is None or self._needs.tiling is not tiling:
            arithmetic = Arithmetic(
                self.chip, self.target, tiling, self._steps, self._kinds
            )
            self._needs = Needs(tiling, arithmetic)
        return self._needs

    def work(self, tiling: GroupTiling, stages: int = 1) -> Work:
        """Return the work of the programs of a group."""
        resources = self.resources(tiling, stages)
        if self._programs is None or self._programs.tiling is not tiling:
            self._programs = Programs(self.chip, self.needs(tiling))
        return self._programs.work(resources)

    def _stages(self, tiling: GroupTiling, stages: int) -> int:
        """Iterations in flight: without a plan, those around matrix products."""
        if stages > 1:
            return stages
        return STAGES if self.has_products(tiling) else 1

    def has_products(self, tiling: GroupTiling) -> bool:
        """Return `True` if a group has a product that matrix instructions compute."""
        return self.needs(tiling).has_products
