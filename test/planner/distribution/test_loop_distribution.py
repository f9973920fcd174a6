"""Decision on loops that are distributed to cores, on facts written by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tlf.planner.distribution.distribution_facts import CoreScope, ScopeOperation
from tlf.planner.distribution.loop_distribution import (
    CoreConflictError,
    select_distributed_loop,
)

NONE = frozenset[str]()
LOAD = ScopeOperation({"weights", "near"}, {"near"}, moved=("weights", "near"))
WAIT = ScopeOperation(NONE, NONE, awaited={"weights", "near"})
STORE = ScopeOperation({"tile", "result"}, {"result"}, moved=("tile", "result"))
LOOP = ScopeOperation(
    {"near", "result"}, {"tile", "result"}, {"tile"}, inside=[STORE], speedup=2
)


def scope_of(operations: Sequence[ScopeOperation], nest: ScopeOperation) -> CoreScope:
    position = operations.index(nest)
    return CoreScope(operations, position, {"near"}, {"near", "tile"})


def test_setup_is_what_fills_the_private_buffers():
    other = ScopeOperation({"weights"}, NONE)
    selected = select_distributed_loop(scope_of([other, LOAD, WAIT, LOOP], LOOP))
    assert selected.loop is LOOP
    assert list(selected.setup) == [1, 2]


def test_the_loop_with_the_largest_speedup_is_distributed():
    inner = replace(LOOP, speedup=3)
    nest = ScopeOperation(
        LOOP.used, LOOP.written, LOOP.allocated, inside=[inner], speedup=2
    )
    assert select_distributed_loop(scope_of([LOAD, nest], nest)).loop is inner


def test_an_outer_loop_is_distributed_if_an_inner_one_cannot_be():
    inner = replace(LOOP, speedup=3)
    nest = ScopeOperation(
        LOOP.used, LOOP.written, LOOP.allocated, inside=[inner, STORE], speedup=2
    )
    assert select_distributed_loop(scope_of([LOAD, nest], nest)).loop is nest


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        ([replace(LOOP, speedup=1)], "it has one iteration"),
        ([LOOP, LOAD], "its private buffers are used after it"),
        (
            [LOAD, ScopeOperation({"weights"}, {"weights"}), LOOP],
            "an operand of its setup is overwritten before it",
        ),
        (
            [ScopeOperation(LOAD.used, {"near", "log"}), LOOP],
            "an operation that it depends on also writes a shared level",
        ),
        (
            [replace(LOOP, allocated={"tile", "far"}, speedup=2)],
            "it allocates buffers in a shared level",
        ),
        (
            [replace(LOOP, allocated=NONE, used={"tile"})],
            "its iterations write to one private tile",
        ),
        (
            [replace(LOOP, inside=[replace(STORE, moved=("weights", "result"))])],
            "it moves between shared levels",
        ),
        (
            [replace(LOOP, used={"tile", "result"})],
            "it uses a private tile that is not allocated in its block",
        ),
    ],
)
def test_refuses_loops_whose_cores_would_conflict(
    operations: Sequence[ScopeOperation], reason: str
):
    (nest,) = (each for each in operations if each.speedup is not None)
    with pytest.raises(CoreConflictError, match=reason):
        select_distributed_loop(scope_of(operations, nest))


def test_refuses_shared_writes_beside_the_distributed_loop():
    nest = ScopeOperation(
        LOOP.used, LOOP.written, LOOP.allocated, inside=[LOOP, STORE], speedup=None
    )
    with pytest.raises(CoreConflictError, match="outside of the distributed loop"):
        select_distributed_loop(scope_of([LOAD, nest], nest))
