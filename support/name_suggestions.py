"""Suggestions of similar names in messages about unknown ones, without IR."""

import difflib
from collections.abc import Iterable, Sequence


def format_expected_names(name: str, known_names: Sequence[str]) -> str:
    """Return all known names, with a suggestion of the one likely meant."""
    listed = ", ".join(f"`{each}`" for each in known_names)
    return f"expected one of {listed}{suggest_name(name, known_names)}"


def suggest_name(name: str, known_names: Iterable[str]) -> str:
    """
    Return a suggestion of the known name that was likely meant, if one is similar.
    Prefixes before a dot are ignored.
    """
    ends = {_last_component(each): each for each in known_names}
    close = difflib.get_close_matches(_last_component(name), ends, n=1)
    return f", did you mean `{ends[close[0]]}`?" if close else ""


def _last_component(name: str) -> str:
    return name.rpartition(".")[2]
