"""
Experiment: gains of the search by dynamic programming over other partition searches, by
the cost model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tlf.compiler.experiments.experiment_program import Program
from tlf.compiler.experiments.result_table import (
    CYCLES,
    MEGABYTES,
    SHARE,
    TEXT,
    Cell,
    Table,
)
from tlf.compiler.experiments.strategy_comparison import (
    GAIN,
    NAMES,
    NOTHING_FITS,
    SearchResult,
    run_searches,
)
from tlf.dialects.target import TargetSpec

OTHERS = [name for name in NAMES if name != "dp"]


def tabulate_gains(
    programs: Sequence[Program], chips: Mapping[str, TargetSpec]
) -> Table:
    """
    Return a table of the schedules that `dp` finds, by the model, in cycles and MB of
    L3, and of the excess of other searches.
    """
    formats = {"program": TEXT, "chip": TEXT, "groups": ",", "exact": TEXT}
    formats |= {"cycles": CYCLES, "MB": MEGABYTES}
    table = Table(formats | dict.fromkeys(OTHERS, SHARE))
    gains = dict.fromkeys(OTHERS, 0)
    for program in programs:
        for label, chip in chips.items():
            searches = run_searches(program.read_module(), chip)
            excesses = _excess_over_dp(searches)
            table.rows.append(
                (
                    program.title,
                    label,
                    *_dp_schedule_cells(searches),
                    *excesses.values(),
                )
            )
            if searches and searches["dp"] is None:
                table.notes.append(f"{program.title} on {label}: {NOTHING_FITS}")
            for name, share in excesses.items():
                gains[name] += share is not None and share > GAIN
    table.notes += [
        f"dp gains over {name} in {count} of {len(table.rows) - len(table.notes)}"
        for name, count in gains.items()
    ]
    return table


def _dp_schedule_cells(
    results_by_search: Mapping[str, SearchResult | None],
) -> Sequence[Cell]:
    """Return the cells for the schedule that `dp` finds."""
    if (best := results_by_search.get("dp")) is None:
        return (None,) * 4
    return best.group_count, best.exactness("dp"), best.cycles, best.bytes / 1e6


def _excess_over_dp(
    results_by_search: Mapping[str, SearchResult | None],
) -> Mapping[str, float | None]:
    """Return the excess of each other search over `dp`, as a share of the latter."""
    if (best := results_by_search.get("dp")) is None:
        return dict.fromkeys(OTHERS)
    by_name = {name: results_by_search.get(name) for name in OTHERS}
    return {name: each and each.excess_over(best) for name, each in by_name.items()}
