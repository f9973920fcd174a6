"""Messages about unknown names."""

import difflib
from collections.abc import Iterable, Sequence


def expected_one_of(name: str, known: Sequence[str]) -> str:
    """All known names, and which of them was likely meant."""
    listed = ", ".join(f"`{each}`" for each in known)
    return f"expected one of {listed}{meant(name, known)}"


def meant(name: str, known: Iterable[str]) -> str:
    """
    Return a suggestion of the known name that was likely meant, if one is similar.
    Prefixes before a dot do not count as similarity.
    """
    ends = {_end(each): each for each in known}
    close = difflib.get_close_matches(_end(name), ends, n=1)
    return f", did you mean `{ends[close[0]]}`?" if close else ""


def _end(name: str) -> str:
    return name.rpartition(".")[2]
