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
    The functions with most seconds: in their own code, anywhere and in TLF, and those
    of TLF with the code of libraries that they call.
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
    """The seconds of a function less those of TLF's functions that it calls."""
    calls = entry.calls or []
    inside = sum(each.totaltime for each in calls if _is_tlf_code(each.code))
    return entry.totaltime - inside


def _is_tlf_code(code: CodeType | str) -> bool:
    """Return `True` if code is TLF's; that of builtin functions is text."""
    return not isinstance(code, str) and Path(code.co_filename).is_relative_to(SOURCES)


def _function_name(code: CodeType | str) -> str:
    """A function with the end of its file's path."""
    if isinstance(code, str):
        return code
    path = Path(code.co_filename)
    file = path.relative_to(SOURCES) if _is_tlf_code(code) else Path(*path.parts[-2:])
    return f"{file.as_posix()} {code.co_qualname}"
