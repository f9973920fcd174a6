"""
Storage: settings of the cache in environment variables.

`TLF_CACHE_DIR` is the folder, `TLF_CACHE_SIZE` the limit such as `512M`, and
`TLF_CACHE=0` disables the cache.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from pathlib import Path

LOG = logging.getLogger("tlf.cache")

DEFAULT_LIMIT = 2 << 30
"""Limit of the bytes in the cache; a network of 100 layers takes about 1 MB."""

_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def cache_directory() -> Path:
    """
    Return the folder of the cache: `TLF_CACHE_DIR`, else `tlf` in the user's cache, or
    in the folder of temporary files if the user has no home.
    """
    if folder := os.environ.get("TLF_CACHE_DIR"):
        return Path(folder)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base, "tlf")
    try:
        return Path.home() / ".cache" / "tlf"
    except RuntimeError:
        return Path(tempfile.gettempdir(), f"tlf-cache-{os.getuid()}")


def is_cache_enabled() -> bool:
    """Return `True` unless `TLF_CACHE` is `0`."""
    return os.environ.get("TLF_CACHE", "1") != "0"


def cache_limit_bytes() -> int:
    """Return `TLF_CACHE_SIZE` in bytes; the default if it is unset or no size."""
    text = os.environ.get("TLF_CACHE_SIZE")
    if text is None:
        return DEFAULT_LIMIT
    if (found := _SIZE.fullmatch(text.strip())) is None:
        LOG.warning("expected TLF_CACHE_SIZE to be a size such as 512M, got %s", text)
        return DEFAULT_LIMIT
    return int(found[1]) << _POWERS[found[2].upper()]
