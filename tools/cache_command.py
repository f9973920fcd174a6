"""
Command `tlf cache`: the cache of compiled programs and kernels on disk.

    tlf cache          folder, number of entries, bytes, limit
    tlf cache list     the programs, most recently used first
    tlf cache clear    remove all entries
    tlf cache path     the folder
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from tlf.runtime.storage.cache_entries import (
    CacheEntry,
    list_cache_entries,
    list_program_files,
    remove_abandoned_files,
    remove_entry,
)
from tlf.runtime.storage.cache_settings import (
    cache_directory,
    cache_limit_bytes,
    is_cache_enabled,
)
from tlf.tools.command_line import CommandLine
from tlf.tools.define_tool import define_tool

DESCRIPTION = "Show or clear the cache of compiled programs and kernels."


class CacheOptions(argparse.Namespace):
    """The parsed command line."""

    action: str


@define_tool("tlf cache")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf cache` command."""
    parser = CommandLine(tool, description=DESCRIPTION)
    parser.add_argument(
        "action",
        nargs="?",
        default="show",
        choices=[*_ACTIONS],
        help="show the size (default), list the programs, clear the cache, or print "
        "the path of its folder",
    )
    options = parser.parse_args(arguments, namespace=CacheOptions())
    _ACTIONS[options.action]()


def _show() -> None:
    """Print the folder, the number of entries, their bytes and the limit."""
    entries = list_cache_entries(cache_directory())
    programs = list_program_files(cache_directory())
    rows = {
        "folder": str(cache_directory()),
        "programs": f"{len(programs):,}",
        "kernels": f"{len(entries) - len(programs):,}",
        "size": f"{sum(each.size for each in entries):,} bytes",
        "limit": f"{cache_limit_bytes():,} bytes",
    }
    if not is_cache_enabled():
        rows["state"] = "disabled by TLF_CACHE=0"
    for title, value in rows.items():
        print(f"{title:<8}  {value}")


def _list_programs() -> None:
    """Print a table of the programs, most recently used first."""
    entries = list_program_files(cache_directory())
    rows = [_describe_program(each) for each in reversed(entries)]
    table = [("program", "target", "bytes", "last used"), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, target, size, time in table:
        left = f"{name:<{widths[0]}}  {target:<{widths[1]}}"
        print(f"{left}  {size:>{widths[2]}}  {time}".rstrip())


def _describe_program(entry: CacheEntry) -> tuple[str, str, str, str]:
    """Return the name, the target, the bytes and the time of the last use."""
    from tlf.compiler.backends.emitted_archive import decode_emitted_record
    from tlf.runtime.storage.program_archive import ArchiveError, decode_archive

    name, target = "(damaged)", ""
    with suppress(ArchiveError, OSError):
        record = decode_emitted_record(decode_archive(entry.path.read_bytes()))
        name, target = record.name, record.target
    time = datetime.fromtimestamp(entry.last_used).strftime("%Y-%m-%d %H:%M:%S")
    return name, target, f"{entry.size:,}", time


def _clear() -> None:
    """Remove all entries; exit with 1 if some cannot be removed."""
    folder = cache_directory()
    remove_abandoned_files(folder)
    entries = list_cache_entries(folder)
    removed = [each for each in entries if remove_entry(each.path)]
    print(f"removed {len(removed):,} entries, {sum(e.size for e in removed):,} bytes")
    if count := len(entries) - len(removed):
        print(f"{folder}: error: cannot remove {count:,} entries", file=sys.stderr)
        sys.exit(1)


def _print_path() -> None:
    """Print the folder of the cache."""
    print(cache_directory())


_ACTIONS: Mapping[str, Callable[[], None]] = {
    "show": _show,
    "list": _list_programs,
    "clear": _clear,
    "path": _print_path,
}


if __name__ == "__main__":
    main()
