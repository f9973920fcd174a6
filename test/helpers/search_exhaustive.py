"""
Exhaustive enumeration of the schedules of a small graph, independent of the search.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations, pairwise, product

from tlf.support.partition import (
    CostModel,
    Option,
    PartitionProblem,
    ResidencyContext,
    mask_of,
)

Group = frozenset[int]
Stay = tuple[int, int, int]
"""Residency interval: value, first group and last group of a sequence."""


def sequences(
    problem: PartitionProblem, costs: CostModel
) -> Iterator[tuple[Group, ...]]:
    """Yield all ordered partitions into connected groups that respect dependences."""
    operations = frozenset(range(len(problem.nodes)))
    legal = [group for group in subsets(operations) if is_group(problem, costs, group)]

    def extend(done: Group) -> Iterator[tuple[Group, ...]]:
        if done == operations:
            yield ()
            return
        for group in legal:
            if group & done or not waits_for(problem, group) <= done | group:
                continue
            for rest in extend(done | group):
                yield (group, *rest)

    return extend(frozenset())


def subsets(operations: Group) -> Iterator[Group]:
    """Return all nonempty subsets of some operations."""
    ordered = sorted(operations)
    sizes = range(1, len(ordered) + 1)
    return map(frozenset, chain(*(combinations(ordered, size) for size in sizes)))


def is_group(problem: PartitionProblem, costs: CostModel, group: Group) -> bool:
    """
    Return `True` if operations are connected, convex and accepted by the cost model.
    """
    reached = {min(group)}
    while more := {
        n for n in group - reached for m in reached if linked(problem, n, m)
    }:
        reached |= more
    before = {above for number in group for above in ancestors(problem, number)}
    convex = not any(ancestors(problem, n) & group for n in before - group)
    is_connected = len(reached) == len(group)
    return is_connected and convex and costs.objection_to_group(mask_of(group)) is None


def ancestors(problem: PartitionProblem, number: int) -> set[int]:
    """Return all transitive producers of an operation."""
    direct = waits_for(problem, frozenset({number}))
    return direct.union(*(ancestors(problem, above) for above in direct))


def linked(problem: PartitionProblem, one: int, other: int) -> bool:
    """Return `True` if two operations share a value."""
    first, second = problem.nodes[one], problem.nodes[other]
    shared = set(first.results) & set(second.operands)
    shared |= set(second.results) & set(first.operands)
    if problem.siblings:
        shared |= set(first.operands) & set(second.operands)
    return bool(shared)


def waits_for(problem: PartitionProblem, group: Group) -> set[int]:
    """Return the producers of the operands of a group."""
    read = {value for number in group for value in problem.nodes[number].operands}
    return {n for n, node in enumerate(problem.nodes) if read & set(node.results)}


def ways_to_stay(
    problem: PartitionProblem, groups: Sequence[Group], value: int
) -> list[tuple[list[Stay], bool]]:
    """
    Return the choices of residency of a value.

    Each is a list of residency intervals between consecutive groups that access the
    value, and whether the value is stored.
    """
    writers = [n for n, node in enumerate(problem.nodes) if value in node.results]
    readers = {n for n, node in enumerate(problem.nodes) if value in node.operands}
    writing = [index for index, group in enumerate(groups) if group & set(writers)]
    home = groups[writing[0]] if writing else frozenset[int]()
    accessing = [
        index
        for index, group in enumerate(groups)
        if index in writing or group & readers
    ]
    gaps = [(value, one, other) for one, other in pairwise(accessing)]
    is_output = problem.values[value].is_output
    choices: list[tuple[list[Stay], bool]] = []
    for residency in product((False, True), repeat=len(gaps)):
        stays = [gap for gap, stay in zip(gaps, residency, strict=True) if stay]
        if not writing:
            choices.append((stays, False))
        elif is_output or not all(residency):
            choices.append((stays, True))
        else:
            choices.append((stays, False))
            if len(readers - home) > 1:
                choices.append((stays, True))
    return choices


def contexts(
    problem: PartitionProblem,
    groups: Sequence[Group],
    stays: Sequence[Stay],
    stored: frozenset[int],
) -> list[ResidencyContext]:
    """Return the memory context of each group."""
    results: list[ResidencyContext] = []
    for index, group in enumerate(groups):
        written = {value for n in group for value in problem.nodes[n].results}
        resident = {value for value, _, end in stays if end == index}
        retained = {value for value, start, _ in stays if start == index}
        passing = {value for value, start, end in stays if start < index < end}
        occupied = sum(problem.values[value].size for value in passing)
        retained_mask, stored_mask = mask_of(retained), mask_of(stored & written)
        results.append(
            ResidencyContext(mask_of(resident), retained_mask, stored_mask, occupied)
        )
    return results


def schedules(
    problem: PartitionProblem,
    costs: CostModel,
    wanted: Callable[[Sequence[Group]], bool] = lambda groups: True,
) -> set[tuple[int, int]]:
    """
    Return the time and bytes of all schedules whose group sequence is `wanted`.

    Every group runs with each of its options.
    """
    options = cache(costs.options_of_group)
    totals = set[tuple[int, int]]()
    for groups in filter(wanted, sequences(problem, costs)):
        used = range(len(problem.values))
        choices = [ways_to_stay(problem, groups, value) for value in used]
        for choice in product(*choices):
            stays = [stay for several, _ in choice for stay in several]
            stored = frozenset(v for v, (_, store) in enumerate(choice) if store)
            memory_contexts = contexts(problem, groups, stays, stored)
            if all(fits(problem, context) for context in memory_contexts):
                masks = map(mask_of, groups)
                totals |= sums(list(map(options, masks, memory_contexts)))
    return totals


def fits(problem: PartitionProblem, context: ResidencyContext) -> bool:
    """Return `True` if the values retained after a group fit in memory."""
    sizes = [
        value.size
        for n, value in enumerate(problem.values)
        if context.retained >> n & 1
    ]
    return sum(sizes) + context.occupied_bytes <= problem.capacity


def sums(steps: Sequence[Sequence[Option]]) -> set[tuple[int, int]]:
    """Return the total time and bytes for each combination of one option per step."""
    totals = {(0, 0)}
    for options in steps:
        totals = {
            (time + option.time, bytes_ + option.bytes)
            for time, bytes_ in totals
            for option in options
        }
    return totals


def undominated(costs: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the Pareto front of time and bytes, the fastest first."""
    best: list[tuple[int, int]] = []
    for time, bytes_ in sorted(costs):
        if not best or bytes_ < best[-1][1]:
            best.append((time, bytes_))
    return best
