"""Source files: reading, writing, and splitting at `// -----`."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

_SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)


class SourceError(Exception):
    """
    A file that cannot be read or written; the message says which and why.
    """


@dataclass(frozen=True)
class Source:
    """
    The text of a program, and the name that diagnostics call it by.
    """

    text: str
    name: str

    def split(self) -> list["Source"]:
        """
        The pieces between lines that start with `// -----`. Each begins with as many
        empty lines as come before it in the file, so that line numbers stay true.
        """
        pieces: list[Source] = []
        line = 0
        for piece in _SEPARATOR.split(self.text):
            pieces.append(Source("\n" * line + piece, self.name))
            line += piece.count("\n")
        return pieces


def read_source(path: str | None) -> Source:
    """
    Read the file at `path`, or standard input for `None` and `-`. The text is UTF-8.
    Raises `SourceError`.
    """
    file = None if path is None or path == "-" else path
    name = file or "<stdin>"
    try:
        data = sys.stdin.buffer.read() if file is None else Path(file).read_bytes()
    except OSError as error:
        raise SourceError(f"cannot read `{name}`: {error.strerror}") from error
    try:
        return Source(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"cannot read `{name}`: byte {error.start} is not UTF-8"
        ) from error


def write_text(path: str, text: str) -> None:
    """Write `text` to the file at `path`. Raises `SourceError`."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(f"cannot write `{path}`: {error.strerror}") from error
