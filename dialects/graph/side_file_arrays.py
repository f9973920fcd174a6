"""
Elements of `graph.constant` in side files: reading of numpy arrays by path, key and
sha256 digest, without IR.
"""

import hashlib
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.interfaces import Array


def compute_digest(array: Array) -> str:
    """Return the sha256 of the bytes of an array, in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _check_key_exists(path: str, key: str, keys: Sequence[str]) -> str:
    """
    Return `key`; raise `DiagnosticException` if it is not among the file's `keys`.
    """
    if key in keys:
        return key
    listed = ", ".join(f"`{name}`" for name in keys) or "nothing"
    raise DiagnosticException(f"expected an array `{key}` in `{path}`, got {listed}")


@lru_cache(maxsize=8)
def _load_array_of_file(path: str, key: str, file_stamp: tuple[int, int]) -> Array:
    """
    Read one array of a safetensors or numpy file, as read-only. The cache is keyed by
    `file_stamp` (modification time and size) too.
    """
    if path.endswith(".safetensors"):
        opened: Any = safe_open(path, "numpy")
        with opened as tensors:
            array: Array = tensors.get_tensor(
                _check_key_exists(path, key, [*tensors.keys()])
            )
    else:
        with np.load(path, allow_pickle=False) as archive:
            array = archive[_check_key_exists(path, key, archive.files)]
    array.flags.writeable = False
    return array


def read_side_file_array(path: str, key: str, sha256: str) -> Array:
    """
    Read the array `key` of the file `path`, a safetensors file if the name ends in
    `.safetensors`, else a numpy archive. An empty digest is not checked.

    Raise a `DiagnosticException` if the file or the array cannot be read, or if the
    digest differs.
    """
    try:
        status = Path(path).stat()
        array = _load_array_of_file(path, key, (status.st_mtime_ns, status.st_size))
    except (
        OSError,
        SafetensorError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
    ) as error:
        raise DiagnosticException(
            f"expected an archive of arrays in `{path}`, got: {error}"
        ) from error
    if sha256 and (found := compute_digest(array)) != sha256:
        raise DiagnosticException(
            f"expected sha256 {sha256} of `{key}` in `{path}`, got {found}"
        )
    return array
