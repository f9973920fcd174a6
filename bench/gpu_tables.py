"""
Render tables of GPU measurements on pages, from the record of the GPU gate.

    python bench/gpu_tables.py            # rewrite the tables in docs/
    python bench/gpu_tables.py --check    # exit with 1 if one is another

Tables have the rows of the core tier, which every change measures again; the record has
those of the full tier, too. A table stands between `<!-- gpu: NAME -->` and
`<!-- gpu: end -->`.
"""

from __future__ import annotations

import argparse
import re
import sys
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


def render_table(name: str, record: Record) -> str:
    """The table of a name, for each card that the record knows."""
    core = core_names()
    parts = list[str]()
    for card, about in sorted(record["cards"].items()):
        table = _format_table(TABLES[name](_select_rows(core, about["rows"])))
        parts += [_describe_run(card, about), table]
    return "\n" + "\n\n".join(parts) + "\n\n"


def core_names() -> frozenset[str]:
    """Names of the rows of the core tier."""
    from gpu_gate_rows import CORE, gate_rows

    return frozenset(row.name for row in gate_rows(0) if row.tier == CORE)


def _select_rows(names: Container[str], rows: Rows) -> Rows:
    return {name: row for name, row in rows.items() if name in names}


def _describe_run(card: str, about: Mapping[str, Any]) -> str:
    """Return the card, the versions and the commit of the measured rows."""
    return (
        f"One {card}, PyTorch {about['torch']}, Triton {about['triton']}, "
        f"at {about['commit'][:9]}:"
    )


def _format_table(rows: Iterator[Sequence[str]]) -> str:
    """Lines of a table, the first of which names the columns."""
    header, *lines = rows
    every = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def network_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """Networks: errors, and milliseconds in a CUDA graph and as called."""
    yield (
        "network", "error", "PyTorch's", "PyTorch, ms", "its compiler", "TLF",
        "TLF, called", "compiled in, s",
    )  # fmt: skip
    for name, row in rows.items():
        if _is_network(name):
            yield name, *_measured_columns(row, 1e3)


def workload_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """Kernels and layers: errors, and microseconds in a CUDA graph."""
    yield "workload", "error", "PyTorch's", "best of others, us", "TLF", "ratio"
    for name, row in rows.items():
        if _is_network(name) or name.startswith("example "):
            continue
        if "failed" in row or "ratio" not in row:
            yield name, "failed", "", "", "", ""
            continue
        mine = row["tlf graph us"]
        yield (
            name, f"{row['tlf error']:.1e}", f"{row['eager error']:.1e}",
            f"{mine * row['ratio']:.0f}", f"{mine:.0f}", f"{row['ratio']:.2f}",
        )  # fmt: skip


def example_rows(rows: Rows) -> Iterator[Sequence[str]]:
    """Examples: errors against the reference."""
    yield "example", "relative error"
    for name, row in rows.items():
        if name.startswith("example "):
            said = f"{row['example error']:.1e}" if "failed" not in row else "failed"
            yield f"`{name.removeprefix('example ')}`", said


TABLES: Mapping[str, Callable[[Rows], Iterator[Sequence[str]]]] = {
    "networks": network_rows,
    "workloads": workload_rows,
    "examples": example_rows,
}


def _is_network(name: str) -> bool:
    from torch_models import MODELS

    return any(
        name.startswith(f"{model.name} {dtype}") for model in MODELS for dtype in DTYPES
    )


def _measured_columns(row: Mapping[str, Any], unit: float) -> Sequence[str]:
    if "failed" in row:
        return ("failed", *[""] * 6)
    times = [row.get(f"{column} graph us") for column in COLUMNS]
    return (
        f"{row['tlf error']:.1e}",
        f"{row['eager error']:.1e}",
        *("" if each is None else f"{each / unit:.3f}" for each in times),
        f"{row['tlf called us'] / unit:.2f}",
        f"{row['tlf first s']:.0f}",
    )


def rewrite_page(text: str, record: Record) -> str:
    """A page with its tables as the record has them."""
    return _BLOCK.sub(
        lambda found: found[1] + render_table(found["name"], record) + found[4], text
    )


def pages_with_tables() -> Iterator[Path]:
    """The pages that have such tables."""
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
