"""
Dynamic programming over the downsets of a graph, without IR, to partition it into
groups.
"""

from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush

from tlf.support.bit_sets import elements_of_mask
from tlf.support.partition.candidate_groups import CandidateGroups
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import ResidencyContext
from tlf.support.partition.hidden_transfers import time_without_earlier_groups
from tlf.support.partition.lazy_evaluation import evaluate_front
from tlf.support.partition.pareto_labels import START, ParetoFronts, PathLabel
from tlf.support.partition.residency_outcomes import ResidencyOutcomes
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.transitions import NOTHING, State, Transitions
from tlf.support.progress import report_iterations

States = dict[State, list[PathLabel]]
"""Labels of each state with the same operations done."""


class SweepLimitError(Exception):
    """A sweep exceeds one of its limits, which the message names."""


@dataclass
class DeadEndError(Exception):
    """
    A sweep of a width did not reach the end; `done` is the downset that it reached
    last.
    """

    done: int
    width: int


@dataclass
class DownsetSweep:
    """
    Search for the best sequence of groups, from the empty downset to the full one.

    A downset is a set of operations with all of their predecessors. In a schedule, the
    operations done after each group form one, so the best paths to all states of the
    larger downsets follow from those of the smaller ones: dynamic programming over the
    ideals of a partial order, as in scheduling with precedence constraints (Schrage and
    Baker 1978). Graphs that are long and narrow have few of them: at most (n/w + 1)^w
    for n operations of which w are independent. The retained values are part of the
    state, since they determine the costs of later groups.

    Without a `width`, all states are visited. With one, only the best states with the
    same number of operations done, and the best of those that retain nothing: from
    there, each operation can run by itself, if it ever can.
    """

    candidates: CandidateGroups
    outcomes: ResidencyOutcomes
    fronts: ParetoFronts
    limits: Limits
    width: int = 0
    downsets: int = 0
    states: int = 0
    candidate_count: int = 0
    moves: int = 0
    layers: dict[int, dict[int, States]] = field(init=False)
    """By number of operations, the downsets of that size and their states."""
    _moves: Transitions = field(init=False)
    _costs_alone: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self._moves = Transitions(self.outcomes)

    @property
    def memo(self) -> CostMemo:
        """Memoized costs of groups."""
        return self.outcomes.memo

    def find_best_paths(self) -> list[PathLabel]:
        """
        Return the labels of the best paths to the end. Raises StuckError if there is
        none, and LimitError if there are more states, candidate groups or residency
        sets than the limits allow.
        """
        problem = self.memo.groups.problem
        self.layers = {size: {} for size in range(len(problem.nodes) + 1)}
        self.layers[0] = {0: {NOTHING: [START]}}
        furthest = 0
        for size in report_iterations(range(len(problem.nodes))):
            if size:
                layer = self.layers[size]
                narrow = (
                    self._select_beam_of_layer if self.width else self._evaluate_layer
                )
                self.layers[size] = narrow(layer)
            self._report_progress(size + 1)
            for done, states in self.layers[size].items():
                furthest = done
                self._add_transitions_from_downset(done, states)
        last = self._evaluate_layer(self.layers[len(problem.nodes)])
        if not last:
            raise DeadEndError(furthest, self.width)
        count = max(self.fronts.size, self.fronts.max_paths)
        return last[problem.all_operations][NOTHING][:count]

    def _report_progress(self, size: int) -> None:
        """
        Report the progress of a sweep over all states up to sets of `size` operations,
        whose work is that of distinct operations: costs of equal groups are memoized.
        """
        if not self.width:
            passed, count = self._distinct_counts[size], self._distinct_counts[-1]
            self.memo.costs.report_progress(passed / count)

    @cached_property
    def _distinct_counts(self) -> list[int]:
        """Numbers of distinct operations among the first ones, from none to all."""
        groups = self.memo.groups
        forms, counts = set[int](), [0]
        for index in range(len(groups.problem.nodes)):
            forms.add(groups.structure_of(1 << index).canonical_form)
            counts.append(len(forms))
        return counts

    def _add_transitions_from_downset(self, done: int, states: States) -> None:
        """Extend the labels of all states of a downset by its candidate groups."""
        self.downsets += 1
        groups = self.candidates.groups_after(done)
        if self.candidates.too_many and not self.width:
            raise SweepLimitError(
                f"more than {self.limits.candidates} candidate groups"
            )
        for group in groups:
            self.candidate_count += 1
            after = done | group
            layer = self.layers[after.bit_count()]
            for state, move, target in self._moves.transitions_to_run_group(
                group, done, states
            ):
                self.moves += 1
                front = layer.setdefault(after, {}).setdefault(target, [])
                if self.outcomes.has_exact_costs:
                    self.states += not front
                    self.fronts.insert_extended_labels(front, states[state], move)
                else:
                    self.fronts.append_extended_labels(front, states[state], move)
            self._check_sweep_limits()

    def _evaluate_layer(self, layer: dict[int, States]) -> dict[int, States]:
        """
        Return the reachable states of a layer, each with its best labels, in an order
        that depends on the states only: of equal schedules the same is found whether or
        not all of them are evaluated.
        """
        resolved: dict[int, States] = {}
        for done, states in sorted(layer.items()):
            for state, front in sorted(states.items()):
                if best := self._evaluate_state(front):
                    resolved.setdefault(done, {})[state] = best
            self._check_sweep_limits()
        return resolved

    def _evaluate_state(self, front: list[PathLabel]) -> list[PathLabel]:
        """
        Return the best labels of a state from its front; empty if it is unreachable.
        """
        if self.outcomes.has_exact_costs:
            return front
        best = evaluate_front(front, self.fronts, self.memo)
        self.states += bool(best)
        return best

    def _check_sweep_limits(self) -> None:
        """Raise `SweepLimitError` if a sweep without a beam exceeds a limit."""
        if self.width:
            return
        if self.states > self.limits.states:
            raise SweepLimitError(f"more than {self.limits.states} states")
        if self.moves > self.limits.moves:
            raise SweepLimitError(f"more than {self.limits.moves} transitions")
        if self.outcomes.has_dropped_residencies:
            raise SweepLimitError(
                f"more than {self.limits.residency_sets} residency sets"
            )

    def _select_beam_of_layer(self, layer: dict[int, States]) -> dict[int, States]:
        """
        Return the best states of a layer, by their savings over running each operation
        by itself: costs of different downsets are not comparable. States are resolved
        in the order of their bounds, until no other one can be among the best.
        """
        ranked = [
            (
                min(label.rank for label in front)[0]
                - self._cost_of_unfused_operations(done),
                done,
                state,
            )
            for done, states in layer.items()
            for state, front in states.items()
        ]
        heapify(ranked)
        best: dict[tuple[int, State], list[PathLabel]] = {}
        chosen: list[tuple[int, State]] = []
        while ranked and len(chosen) <= self.width:
            _, done, state = heappop(ranked)
            if len(chosen) == self.width and state != NOTHING:
                continue
            if (done, state) in best:
                chosen.append((done, state))
            elif labels := self._evaluate_state(layer[done][state]):
                best[done, state] = labels
                rank = labels[0].rank[0] - self._cost_of_unfused_operations(done)
                heappush(ranked, (rank, done, state))
        narrow: dict[int, States] = {}
        for done, state in sorted(chosen):
            narrow.setdefault(done, {})[state] = best[done, state]
        return narrow

    def _cost_of_unfused_operations(self, done: int) -> int:
        """
        Return the cost of operations if each one runs by itself and nothing is
        retained.
        """
        total = 0
        for index in elements_of_mask(done):
            if index not in self._costs_alone:
                self._costs_alone[index] = self._cost_of_group_alone(1 << index)
            total += self._costs_alone[index]
        return total

    def _cost_of_group_alone(self, group: int) -> int:
        """
        Return the lowest cost by the objective with nothing resident or retained and
        all outputs stored; 0 if the group cannot run.
        """
        if self.memo.objection_to_group(group) is not None:
            return 0
        context = ResidencyContext(0, 0, self.memo.groups.boundary_of(group).outputs, 0)
        rank = self.fronts.objective.sort_key_of_cost
        costs = [
            rank(time_without_earlier_groups(o), o.bytes)[0]
            for o in self.memo.options_of_group(group, context)
        ]
        return min(costs, default=0)
