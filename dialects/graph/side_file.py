"""Arrays in side files: large weights that a program names by key and digest."""

import hashlib
import zipfile
from functools import lru_cache
from pathlib import Path

import numpy as np
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.interfaces import Array


def digest(array: Array) -> str:
    """The sha256 of the bytes of an array, in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@lru_cache(maxsize=8)
def _load(path: str, key: str, stamp: tuple[int, int]) -> Array:
    with np.load(path, allow_pickle=False) as archive:
        if key not in archive.files:
            listed = ", ".join(f"`{name}`" for name in archive.files) or "nothing"
            raise DiagnosticException(
                f"expected an array `{key}` in `{path}`, got {listed}"
            )
        array = archive[key]
    array.flags.writeable = False
    return array


def read_array(path: str, key: str, sha256: str) -> Array:
    """
    Read the array `key` of the archive `path`; an empty digest is not checked.

    Raises a `DiagnosticException` where the archive, the array or the digest is amiss.
    """
    try:
        status = Path(path).stat()
        array = _load(path, key, (status.st_mtime_ns, status.st_size))
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise DiagnosticException(
            f"expected an archive of arrays in `{path}`, got: {error}"
        ) from error
    if sha256 and (found := digest(array)) != sha256:
        raise DiagnosticException(
            f"expected sha256 {sha256} of `{key}` in `{path}`, got {found}"
        )
    return array
