"""Dynamic programming over the downsets of a graph."""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from tlf.support.partition.bit_sets import members
from tlf.support.partition.candidate_groups import CandidateGroups
from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import Context
from tlf.support.partition.hidden_transfers import standalone_time
from tlf.support.partition.lazy_evaluation import resolve_front
from tlf.support.partition.pareto_labels import START, Label, ParetoFronts
from tlf.support.partition.residency_outcomes import Outcomes
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.transitions import NOTHING, State, Transitions

States = dict[State, list[Label]]
"""The ways to each state that has the same operations done."""


class LimitError(Exception):
    """A sweep has to visit more than it may; tells what of."""


@dataclass
class StuckError(Exception):
    """A sweep of a width did not reach the end, but what is done, as far as it came."""

    done: int
    width: int


@dataclass
class Sweep:
    """
    Finds the best sequence of groups, from the downset of no operations to that of all.

    A downset is a set of operations with all of their predecessors. In a schedule, what
    is done after each group is one, so the best ways to all states of the larger ones
    follow from those of the smaller ones: dynamic programming over the ideals of a
    partial order, as in scheduling with precedence constraints (Schrage and Baker
    1978). Graphs that are long and narrow have few of them: at most (n/w + 1)^w for n
    operations of which w are independent. What is retained is part of the state,
    since it decides what later groups cost.

    Without a `width`, all states are visited. With one, the best of those with as many
    operations done are, and the best of those that retain nothing: from there on, each
    operation can run alone, if it ever can.
    """

    candidates: CandidateGroups
    outcomes: Outcomes
    fronts: ParetoFronts
    limits: Limits
    width: int = 0
    downsets: int = 0
    states: int = 0
    candidate_count: int = 0
    moves: int = 0
    layers: dict[int, dict[int, States]] = field(init=False)
    """For each number of operations, the downsets of as many and their states."""
    _moves: Transitions = field(init=False)
    _alone: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self._moves = Transitions(self.outcomes)

    @property
    def memo(self) -> CostMemo:
        """Memoised costs of groups."""
        return self.outcomes.memo

    def run(self) -> list[Label]:
        """
        The best ways to do everything. Raises StuckError if there is none, and
        LimitError if there are more states, groups to run next or values that may stay
        than are allowed.
        """
        problem = self.memo.groups.problem
        self.layers = {size: {} for size in range(len(problem.nodes) + 1)}
        self.layers[0] = {0: {NOTHING: [START]}}
        furthest = 0
        for size in range(len(problem.nodes)):
            if size:
                reached = self.layers[size]
                narrow = self._prune_layer if self.width else self._resolve_layer
                self.layers[size] = narrow(reached)
            for done, states in self.layers[size].items():
                furthest = done
                self._expand(done, states)
        last = self._resolve_layer(self.layers[len(problem.nodes)])
        if not last:
            raise StuckError(furthest, self.width)
        most = max(self.fronts.size, self.fronts.ways)
        return last[problem.all_operations][NOTHING][:most]

    def _expand(self, done: int, states: States) -> None:
        """Go on from all states of one downset."""
        self.downsets += 1
        groups = self.candidates.groups_after(done)
        if self.candidates.too_many and not self.width:
            raise LimitError(f"more than {self.limits.candidates} groups to run next")
        for group in groups:
            self.candidate_count += 1
            after = done | group
            layer = self.layers[after.bit_count()]
            for state, move, target in self._moves.transitions_of(group, done, states):
                self.moves += 1
                front = layer.setdefault(after, {}).setdefault(target, [])
                if self.outcomes.has_exact_costs:
                    self.states += not front
                    self.fronts.extend_front(front, states[state], move)
                else:
                    self.fronts.append_bounds(front, states[state], move)
            self._check_limits()

    def _resolve_layer(self, layer: dict[int, States]) -> dict[int, States]:
        """
        The states of a layer that can be reached, each with the best ways to it, in an
        order that only depends on what they are: of equal schedules the same is found
        whether or not all of them are priced.
        """
        found: dict[int, States] = {}
        for done, states in sorted(layer.items()):
            for state, front in sorted(states.items()):
                if best := self._resolve_state(front):
                    found.setdefault(done, {})[state] = best
            self._check_limits()
        return found

    def _resolve_state(self, front: list[Label]) -> list[Label]:
        """The best ways to a state, none if it cannot be reached."""
        if self.outcomes.has_exact_costs:
            return front
        best = resolve_front(front, self.fronts, self.memo)
        self.states += bool(best)
        return best

    def _check_limits(self) -> None:
        """Raise LimitError if a sweep of all states goes too far."""
        if self.width:
            return
        if self.states > self.limits.states:
            raise LimitError(f"more than {self.limits.states} states")
        if self.moves > self.limits.moves:
            raise LimitError(f"more than {self.limits.moves} ways to go on")
        if self.outcomes.too_many:
            raise LimitError(
                f"more than {self.limits.residency_sets} sets of values may stay"
            )

    def _prune_layer(self, layer: dict[int, States]) -> dict[int, States]:
        """
        The best states, by how much better they are than each operation alone: what is
        done differs, so what it cost is not to be compared. States are settled in the
        order of their bounds, until no other one can be among the best.
        """
        ranked = [
            (
                min(label.rank for label in front)[0] - self._cost_unfused(done),
                done,
                state,
            )
            for done, states in layer.items()
            for state, front in states.items()
        ]
        heapify(ranked)
        best: dict[tuple[int, State], list[Label]] = {}
        chosen: list[tuple[int, State]] = []
        while ranked and len(chosen) <= self.width:
            _, done, state = heappop(ranked)
            if len(chosen) == self.width and state != NOTHING:
                continue
            if (done, state) in best:
                chosen.append((done, state))
            elif found := self._resolve_state(layer[done][state]):
                best[done, state] = found
                rank = found[0].rank[0] - self._cost_unfused(done)
                heappush(ranked, (rank, done, state))
        narrow: dict[int, States] = {}
        for done, state in sorted(chosen):
            narrow.setdefault(done, {})[state] = best[done, state]
        return narrow

    def _cost_unfused(self, done: int) -> int:
        """
        Return the cost of operations if each one runs alone and nothing is retained.
        """
        total = 0
        for number in members(done):
            if number not in self._alone:
                self._alone[number] = self._cost_alone(1 << number)
            total += self._alone[number]
        return total

    def _cost_alone(self, group: int) -> int:
        if self.memo.objection(group) is not None:
            return 0
        context = Context(0, 0, self.memo.groups.boundary(group).outputs, 0)
        rank = self.fronts.objective.rank
        costs = [
            rank(standalone_time(o), o.bytes)[0]
            for o in self.memo.options(group, context)
        ]
        return min(costs, default=0)
