"""Driver: reading and writing of source files, and splitting at `// -----`."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tlf.runtime.atomic_write import write_atomically

_SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)


class SourceError(Exception):
    """
    A file that cannot be read or written; the message states the file and the reason.
    """


@dataclass(frozen=True)
class Source:
    """The text of a program, and its name in diagnostics."""

    text: str
    name: str

    def split_at_separators(self) -> list["Source"]:
        """
        Return the parts between lines that start with `// -----`. Each is padded with
        the empty lines that preserve the line numbers of the file.
        """
        parts: list[Source] = []
        line = 0
        for part in _SEPARATOR.split(self.text):
            parts.append(Source("\n" * line + part, self.name))
            line += part.count("\n")
        return parts


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


def write_text_file(path: str, text: str) -> None:
    """
    Write or overwrite the file at `path` with `text`, atomically. Raises `SourceError`.
    """
    try:
        write_atomically(Path(path), lambda file: file.write_text(text, "utf-8"))
    except OSError as error:
        raise SourceError(f"cannot write `{path}`: {error.strerror}") from error
