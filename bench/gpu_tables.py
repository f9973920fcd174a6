"""
Render tables of GPU measurements on pages, from the record of the GPU gate.

    python bench/gpu_tables.py            # rewrite the tables in docs/
    python bench/gpu_tables.py --check    # exit with 1 if a table differs

Tables contain the rows of the core tier, which are measured again for every change, and
those of KernelBench; the record also has the rows of the full tier. A table is between
the markers `<!-- gpu: NAME -->` and `<!-- gpu: end -->`.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_gate_record import Record, read_record

ROOT = Path(__file__).parents[1]

RECORD = ROOT / "bench" / "records" / "gpu.json"

_BLOCK = re.compile(
    r"(<!-- gpu: (?P<name>[\w ]+) -->\n)(?P<text>.*?)(<!-- gpu: end -->\n)", re.DOTALL
)

Rows = Mapping[str, Mapping[str, Any]]

DTYPES = ("f32", "bf16", "f16")

COLUMNS = ("eager", "inductor", "tlf")

MARK = "measured at"
"""Key of the commit of rows that were not run at the commit of the table."""

KERNELBENCH = "kernelbench"
"""Start of the names of rows of KernelBench problems."""


def render_table(name: str, record: Record) -> str:
    """Return the named table, for each GPU in the record."""
    core = core_names()
    sections = list[str]()
    for card, about in sorted(record["cards"].items()):
        problems = [each for each in about["rows"] if each.startswith(KERNELBENCH)]
        names = problems if name in PROBLEM_TABLES else core
        commit = _find_commit(names, about["rows"]) or about["commit"]
        rows = _select_rows(names, about["rows"], commit)
        table = _format_table(TABLES[name](rows))
        sections += [_describe_run(card, about, commit), table]
    return "\n" + "\n\n".join(sections) + "\n\n"


def core_names() -> frozenset[str]:
    """Return the names of the rows of the core tier."""
    from gpu_gate_rows import CORE, gate_rows

    return frozenset(row.name for row in gate_rows(0) if row.tier == CORE)


def _find_commit(names: Container[str], rows: Rows) -> str | None:
    """Return the commit at which most of the named rows were run; None without any."""
    commits = Counter(row["commit"] for name, row in rows.items() if name in names)
    return max(commits, key=lambda each: commits[each], default=None)


def _select_rows(names: Container[str], rows: Rows, commit: str) -> Rows:
    """
    Return the rows with the given names; those that were not run at a commit have a
    mark with the one at which they were.
    """
    return {
        name: row if row["commit"] == commit else {**row, MARK: row["commit"][:9]}
        for name, row in rows.items()
        if name in names
    }


def _label_of(name: str, row: Mapping[str, Any]) -> str:
    """Return the name of a row in tables, with its mark."""
    return f"{name} (at {row[MARK]})" if MARK in row else name


def _describe_run(card: str, about: Mapping[str, Any], commit: str) -> str:
    """Return the GPU, the versions and the commit of the measured rows."""
    return (
        f"One {card}, PyTorch {about['torch']}, Triton {about['triton']}, "
        f"at {commit[:9]}:"
    )


def _format_table(rows: Iterator[Sequence[str]]) -> str:
    """Return a Markdown table; the first row names the columns."""
    header, *lines = rows
    table = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def network_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """
    Yield the rows of networks: errors, and milliseconds in a CUDA graph and as called.
    """
    yield (
        "network", "error", "PyTorch's", "PyTorch, ms", "its compiler", "TLF",
        "ratio", "TLF, called", "ratio", "compiled in, s",
    )  # fmt: skip
    for name, row in rows.items():
        if _is_network(name):
            yield _label_of(name, row), *_measured_columns(row, 1e3)


def workload_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """
    Yield the rows of kernels and layers: errors, and microseconds in a CUDA graph.
    """
    yield "workload", "error", "PyTorch's", "best of others, us", "TLF", "ratio"
    for name, row in rows.items():
        if _is_network(name) or name.startswith("example "):
            continue
        if "failed" in row or "ratio" not in row:
            yield _label_of(name, row), "failed", "", "", "", ""
            continue
        time = row["tlf graph us"]
        yield (
            _label_of(name, row),
            f"{row['tlf error']:.1e}", f"{row['eager error']:.1e}",
            f"{time * row['ratio']:.0f}", f"{time:.0f}", f"{row['ratio']:.2f}",
        )  # fmt: skip


def example_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """Yield the rows of examples: errors against the reference."""
    yield "example", "relative error"
    for name, row in rows.items():
        if name.startswith("example "):
            error = f"{row['example error']:.1e}" if "failed" not in row else "failed"
            example, _, rest = name.removeprefix("example ").partition(" ")
            yield f"`{example}` {rest}".rstrip(), error


def mean_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """Yield the geometric means of the ratios of sets of rows."""
    yield "rows", "number", "ratio", "as called"
    for label, names in _name_sets(rows).items():
        means = [
            geometric_mean([ratio_to_peers(rows[name], kind) for name in names])
            for kind in ("graph", "called")
        ]
        yield label, str(len(names)), *(f"{mean:.2f}" for mean in means)


def _name_sets(rows: Rows) -> Mapping[str, Sequence[str]]:
    """Return the names of the rows of each mean."""
    measured = [name for name, row in rows.items() if "ratio" in row]
    networks = [name for name in measured if _is_network(name)]
    return {
        "networks in bf16": [name for name in networks if name.endswith(" bf16")],
        "all networks": networks,
        "layers and kernels": [name for name in measured if name not in networks],
    }


def problem_mean_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """
    Yield the geometric means of the ratios of KernelBench problems, by level and by
    PyTorch's switches.
    """
    yield "level", "switches", "problems", "ratio", "below 1"
    for level in ("1", "2"):
        for switches in ("tf32 off", "default"):
            names = _problem_names(rows, level, switches == "default")
            ratios = [ratio_to_peers(rows[name], "graph") for name in names]
            if not ratios:
                continue
            below = sum(each < 1 for each in ratios)
            mean = f"{geometric_mean(ratios):.2f}"
            yield level, switches, str(len(ratios)), mean, str(below)


def _problem_names(rows: Rows, level: str, is_default: bool) -> Sequence[str]:
    """
    Return the rows of the problems of a level of which nothing is left to PyTorch. With
    the default switches, those of a problem whose products they change are those named
    `tf32`.
    """
    prefix = f"{KERNELBENCH} level {level} "
    plain, default = dict[str, str](), dict[str, str]()
    for name, row in rows.items():
        is_whole = "ratio" in row and not row.get("left to PyTorch")
        if name.startswith(prefix) and is_whole:
            problem, *words = name.removeprefix(prefix).split(" ")
            (default if words[:1] == ["tf32"] else plain)[problem] = name
    return list(({**plain, **default} if is_default else plain).values())


def slowest_problem_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """Yield the ten rows of KernelBench with the smallest ratios."""
    yield "problem", "error", "PyTorch's", "best of others, us", "TLF", "ratio"
    measured = [name for name, row in rows.items() if "ratio" in row]
    for name in sorted(measured, key=lambda name: rows[name]["ratio"])[:10]:
        row = rows[name]
        time = row["tlf graph us"]
        yield (
            _label_of(name.removeprefix(f"{KERNELBENCH} "), row),
            f"{row['tlf error']:.1e}", f"{row['eager error']:.1e}",
            f"{time * row['ratio']:.0f}", f"{time:.0f}", f"{row['ratio']:.2f}",
        )  # fmt: skip


def geometric_mean(numbers: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def ratio_to_peers(row: Mapping[str, Any], kind: str) -> float:
    """
    Return the time of the fastest peer divided by that of TLF; `kind` is `graph` or
    `called`.
    """
    end = f" {kind} us"
    times = {key: time for key, time in row.items() if key.endswith(end)}
    mine = times.pop(f"tlf{end}")
    return min(times.values()) / mine


def _format_ratio(row: Mapping[str, Any], kind: str) -> str:
    return f"{ratio_to_peers(row, kind):.2f}"


TABLES: Mapping[str, Callable[[Rows], Iterator[Sequence[str]]]] = {
    "networks": network_rows,
    "workloads": workload_rows,
    "examples": example_rows,
    "means": mean_rows,
    "kernelbench means": problem_mean_rows,
    "kernelbench slowest": slowest_problem_rows,
}

PROBLEM_TABLES = ("kernelbench means", "kernelbench slowest")
"""Tables of the rows of KernelBench."""


def _is_network(name: str) -> bool:
    from torch_models import MODELS

    return any(
        name.startswith(f"{model.name} {dtype}") for model in MODELS for dtype in DTYPES
    )


def _measured_columns(row: Mapping[str, Any], unit: float) -> Sequence[str]:
    if "failed" in row:
        return ("failed", *[""] * 8)
    times = [row.get(f"{column} graph us") for column in COLUMNS]
    return (
        f"{row['tlf error']:.1e}",
        f"{row['eager error']:.1e}",
        *("" if each is None else f"{each / unit:.3f}" for each in times),
        _format_ratio(row, "graph"),
        f"{row['tlf called us'] / unit:.2f}",
        _format_ratio(row, "called"),
        f"{row['tlf first s']:.0f}",
    )


def rewrite_page(text: str, record: Record) -> str:
    """Return a page with its tables rendered from the record."""
    return _BLOCK.sub(
        lambda match: match[1] + render_table(match["name"], record) + match[4], text
    )


def pages_with_tables() -> Iterator[Path]:
    """Yield the pages that contain rendered tables."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        if _BLOCK.search(path.read_text(encoding="utf-8")):
            yield path


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite the pages, or check them, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    record, status = read_record(RECORD), 0
    for path in pages_with_tables():
        before = path.read_text(encoding="utf-8")
        after = rewrite_page(before, record)
        if before == after:
            continue
        print(f"{path.relative_to(ROOT)}: tables differ from the record")
        status = int(options.check)
        if not options.check:
            path.write_text(after, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
