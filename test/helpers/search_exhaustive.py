"""All schedules of a small graph, one after the other: slow, and sharing no search."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations, pairwise, product

from tlf.support.partition import Context, CostModel, Option, Problem, mask_of

Group = frozenset[int]
Stay = tuple[int, int, int]
"""A value stays in memory from one group of a sequence to another one."""


def sequences(problem: Problem, costs: CostModel) -> Iterator[tuple[Group, ...]]:
    """All ordered partitions into groups that are connected and wait for none later."""
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
    """All sets of some operations but the empty one."""
    ordered = sorted(operations)
    sizes = range(1, len(ordered) + 1)
    return map(frozenset, chain(*(combinations(ordered, size) for size in sizes)))


def is_group(problem: Problem, costs: CostModel, group: Group) -> bool:
    """
    Return `True` if operations are connected and convex, and the cost model has no
    objection.
    """
    reached = {min(group)}
    while more := {
        n for n in group - reached for m in reached if linked(problem, n, m)
    }:
        reached |= more
    before = {above for number in group for above in ancestors(problem, number)}
    convex = not any(ancestors(problem, n) & group for n in before - group)
    whole = len(reached) == len(group)
    return whole and convex and costs.objection(mask_of(group)) is None


def ancestors(problem: Problem, number: int) -> set[int]:
    """All operations that one waits for."""
    direct = waits_for(problem, frozenset({number}))
    return direct.union(*(ancestors(problem, above) for above in direct))


def linked(problem: Problem, one: int, other: int) -> bool:
    """Return `True` if two operations are connected by a value."""
    first, second = problem.nodes[one], problem.nodes[other]
    through = set(first.results) & set(second.operands)
    through |= set(second.results) & set(first.operands)
    if problem.siblings:
        through |= set(first.operands) & set(second.operands)
    return bool(through)


def waits_for(problem: Problem, group: Group) -> set[int]:
    """The operations that write what those of a group read."""
    read = {value for number in group for value in problem.nodes[number].operands}
    return {n for n, node in enumerate(problem.nodes) if read & set(node.results)}


def ways_to_stay(
    problem: Problem, groups: Sequence[Group], value: int
) -> list[tuple[list[Stay], bool]]:
    """
    The ways to have a value between groups: the stretches from one group that touches
    it to the next in which it stays, and whether it is stored.
    """
    writers = [n for n, node in enumerate(problem.nodes) if value in node.results]
    readers = {n for n, node in enumerate(problem.nodes) if value in node.operands}
    writing = [at for at, group in enumerate(groups) if group & set(writers)]
    home = groups[writing[0]] if writing else frozenset[int]()
    touching = [
        at for at, group in enumerate(groups) if at in writing or group & readers
    ]
    gaps = [(value, one, other) for one, other in pairwise(touching)]
    is_output = problem.values[value].is_output
    found: list[tuple[list[Stay], bool]] = []
    for chosen in product((False, True), repeat=len(gaps)):
        stays = [gap for gap, stay in zip(gaps, chosen, strict=True) if stay]
        if not writing:
            found.append((stays, False))
        elif is_output or not all(chosen):
            found.append((stays, True))
        else:
            found.append((stays, False))
            if len(readers - home) > 1:
                found.append((stays, True))
    return found


def contexts(
    problem: Problem,
    groups: Sequence[Group],
    stays: Sequence[Stay],
    stored: frozenset[int],
) -> list[Context]:
    """Return the state of the memory around each group."""
    found: list[Context] = []
    for at, group in enumerate(groups):
        written = {value for n in group for value in problem.nodes[n].results}
        arrives = {value for value, _, end in stays if end == at}
        leaves = {value for value, start, _ in stays if start == at}
        passing = {value for value, start, end in stays if start < at < end}
        taken = sum(problem.values[value].size for value in passing)
        kept, stores = mask_of(leaves), mask_of(stored & written)
        found.append(Context(mask_of(arrives), kept, stores, taken))
    return found


def schedules(
    problem: Problem,
    costs: CostModel,
    wanted: Callable[[Sequence[Group]], bool] = lambda groups: True,
) -> set[tuple[int, int]]:
    """
    Time and bytes of all schedules with a wanted sequence of groups, in which every
    group runs in all of its ways.
    """
    options = cache(costs.options)
    found = set[tuple[int, int]]()
    for groups in filter(wanted, sequences(problem, costs)):
        used = range(len(problem.values))
        ways = [ways_to_stay(problem, groups, value) for value in used]
        for chosen in product(*ways):
            stays = [stay for several, _ in chosen for stay in several]
            stored = frozenset(v for v, (_, store) in enumerate(chosen) if store)
            around = contexts(problem, groups, stays, stored)
            if all(fits(problem, context) for context in around):
                masks = map(mask_of, groups)
                found |= sums(list(map(options, masks, around)))
    return found


def fits(problem: Problem, context: Context) -> bool:
    """Return `True` if the values that stay after a group fit in memory."""
    kept = [
        value.size
        for n, value in enumerate(problem.values)
        if context.retained >> n & 1
    ]
    return sum(kept) + context.occupied <= problem.capacity


def sums(steps: Sequence[Sequence[Option]]) -> set[tuple[int, int]]:
    """The total time and bytes for each choice of an option per step."""
    found = {(0, 0)}
    for options in steps:
        found = {
            (time + option.time, bytes_ + option.bytes)
            for time, bytes_ in found
            for option in options
        }
    return found


def undominated(costs: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that no other one beats in both time and bytes, the fastest first."""
    best: list[tuple[int, int]] = []
    for time, bytes_ in sorted(costs):
        if not best or bytes_ < best[-1][1]:
            best.append((time, bytes_))
    return best
