"""Storage: atomic writing of files that several processes share."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tlf.runtime.storage.temporary_files import make_temporary_name


def write_file_atomically(path: Path, data: bytes) -> None:
    """
    Write `data` to a temporary file in the folder of `path`, which is made if missing,
    and rename it. A reader sees the old file or the whole new one. Raises `OSError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(make_temporary_name())
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
