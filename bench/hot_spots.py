"""Hot spots of a profile, as short tables."""

from __future__ import annotations

from cProfile import Profile
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

import tlf

if TYPE_CHECKING:
    from _lsprof import profiler_entry

SOURCES = Path(tlf.__file__).parent


def hot_spots(profile: Profile, count: int = 3) -> list[str]:
    """
    Return the functions with the most seconds.

    The tables are of own time in any code, of own time in TLF, and of time in TLF
    including the libraries that it calls.
    """
    entries = profile.getstats()
    ours = [each for each in entries if _is_tlf_code(each.code)]
    tables = {
        "own time, any code": [(each.inlinetime, each.code) for each in entries],
        "own time, TLF": [(each.inlinetime, each.code) for each in ours],
        "with libraries, TLF": [
            (_time_with_libraries(each), each.code) for each in ours
        ],
    }
    lines: list[str] = []
    for title, rows in tables.items():
        hottest = sorted(rows, key=lambda row: -row[0])[:count]
        lines.append(title)
        lines += [
            f"  {seconds:8.3f}  {_function_name(code)}" for seconds, code in hottest
        ]
    return lines


def _time_with_libraries(entry: profiler_entry) -> float:
    """Return the seconds of a function without the TLF functions that it calls."""
    calls = entry.calls or []
    inside = sum(each.totaltime for each in calls if _is_tlf_code(each.code))
    return entry.totaltime - inside


def _is_tlf_code(code: CodeType | str) -> bool:
    """Return `True` if code belongs to TLF; a builtin function's code is a string."""
    return not isinstance(code, str) and Path(code.co_filename).is_relative_to(SOURCES)


def _function_name(code: CodeType | str) -> str:
    """Return the name of a function with the end of its file path."""
    if isinstance(code, str):
        return code
    path = Path(code.co_filename)
    file = path.relative_to(SOURCES) if _is_tlf_code(code) else Path(*path.parts[-2:])
    return f"{file.as_posix()} {code.co_qualname}"
