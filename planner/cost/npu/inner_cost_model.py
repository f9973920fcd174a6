"""Cost models of a group in the innermost NPU level: its program and its totals."""

from __future__ import annotations

from tlf.analysis.tiling.early_contractions import early_contractions_of
from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.machine.instruction_costs import InstructionCosts
from tlf.planner.cost.npu.event_program import Item
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.in_place_buffers import InPlaceBuffers
from tlf.planner.cost.npu.iterations_in_flight import SINGLE, IterationsInFlight
from tlf.planner.cost.npu.nest_program import NestProgram
from tlf.planner.cost.npu.program_estimate import ProgramEstimate
from tlf.planner.cost.npu.tile_footprint import TileBuffers
from tlf.planner.cost.npu.tile_instructions import TileInstructions
from tlf.planner.cost.npu.transfer_costs import TransferCosts


class InnerCostModel:
    """Cost models of a target between a level and the next outer one."""

    def __init__(self, target: TargetSpec, level: Level) -> None:
        names = list(target.levels)
        outer = names[names.index(level.name) + 1]
        self.costs = InstructionCosts(build_npu_machine(target))
        self.rules = tile_rules_of(target, level.name)
        self.moves = TransferCosts(
            self.costs, level.name, outer, is_axis_ordered=self.rules.is_axis_ordered
        )
        self.work = TileInstructions(self.costs)
        self.burst = target.levels[outer].burst
        self.capacity = level.capacity

    def build_program(
        self,
        tiling: GroupTiling,
        in_flight_counts: IterationsInFlight,
        buffers: TileBuffers | None = None,
    ) -> list[Item]:
        """
        Return the loops of a group; `buffers` are the buffers of its tiles, if known.
        """
        if early := early_contractions_of(tiling):
            buffers = buffers or TileBuffers(tiling)
            if buffers.footprint_of(in_flight_counts).total_bytes > self.capacity:
                early = []
        in_place = (
            InPlaceBuffers(tiling, ExecutionSteps(tiling.tiles))
            if buffers is None
            else buffers.in_place
        )
        nest = NestProgram(
            tiling, self.moves, self.work, in_flight_counts, in_place, early
        )
        return nest.build_program()

    def estimate_program(self, tiling: GroupTiling) -> ProgramEstimate:
        """Return the totals of the program of a group, without its buffers."""
        nest = NestProgram(tiling, self.moves, self.work, SINGLE, None)
        return ProgramEstimate.of(nest.build_program())
