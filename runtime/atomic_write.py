"""Runtime: atomic writing of output files, without IR."""

import os
import stat
from collections.abc import Callable
from pathlib import Path


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """
    Write a file under a temporary name in its folder, and rename it when it is
    complete; if that fails or is interrupted, there is no new file. Links are followed,
    and permissions are kept. Terminals, pipes and devices are written directly.

    Raises `OSError` for `file`, or for another file that `write` cannot write.
    """
    target = file.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if file.exists() and not file.is_file():
            write(file)
        else:
            _write_and_rename(partial, target, write)
    except OSError as error:
        if error.filename not in (None, str(partial)):
            raise
        raise OSError(error.errno, error.strerror, str(file)) from error


def _write_and_rename(
    partial: Path, file: Path, write: Callable[[Path], object]
) -> None:
    """Write the file `partial`, and rename it to `file`, with its permissions."""
    try:
        write(partial)
        if file.exists():
            partial.chmod(stat.S_IMODE(file.stat().st_mode))
        os.replace(partial, file)
    finally:
        partial.unlink(missing_ok=True)
