"""Driver: atomic writing of output files."""

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, and rename it when it is complete."""
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        write(partial)
        os.replace(partial, file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    finally:
        partial.unlink(missing_ok=True)
