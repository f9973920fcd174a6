"""
Write the workloads of `zoo.py` as files, for `tlf-bench`.

    python bench/zoo_files.py build/zoo
    python bench/zoo_files.py build/zoo --only bottleneck --dtype f32

A file name consists of the workload, its batch and size, and its element type, such as
`bottleneck-1x224-f16.mlir`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lower_bounds import ROWS
from zoo import ZooError, workload


class ZooFilesOptions(argparse.Namespace):
    """Command-line options."""

    folder: Path
    dtype: str
    only: str


def parse_arguments(arguments: Sequence[str] | None) -> ZooFilesOptions:
    """Parse the command line."""
    text = (__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog="zoo_files", description=text)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dtype", default="f16")
    parser.add_argument("--only", default="", help="part of the names of files")
    return parser.parse_args(arguments, namespace=ZooFilesOptions())


def write_files(options: ZooFilesOptions) -> None:
    """Write a file for each workload that has the element type."""
    options.folder.mkdir(parents=True, exist_ok=True)
    for row in ROWS:
        name = f"{row.name}-{row.batch}x{row.size}-{options.dtype}"
        selected = workload(row.name)
        if options.only not in name or options.dtype not in selected.dtypes:
            continue
        module = selected.module(row.size, row.batch, options.dtype)
        file = options.folder / f"{name}.mlir"
        file.write_text(f"{module!s}\n", encoding="utf-8")
        print(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return the exit status."""
    options = parse_arguments(arguments)
    try:
        write_files(options)
    except (ZooError, OSError) as error:
        print(f"zoo_files: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
