"""
Storage: cache of files by key, bounded in size by removing the least recently used.

Any number of processes may use one folder, and may be killed at any time. No error of
the file system is raised: a file that cannot be read is not in the cache, and one that
cannot be written is not stored.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from tlf.runtime.storage.atomic_files import write_file_atomically
from tlf.runtime.storage.cache_entries import (
    PROGRAMS,
    SUFFIX,
    list_cache_entries,
    remove_abandoned_files,
    remove_entry,
)
from tlf.runtime.storage.cache_settings import (
    LOG,
    cache_directory,
    cache_limit_bytes,
    is_cache_enabled,
)

KEPT_SHARE = 0.9
"""Share of the limit that eviction leaves, so that not every write evicts."""


class CacheStore:
    """Cache in a folder, of at most `limit` bytes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._size: int | None = None
        """Bytes when last measured, and those written since; `None` before."""

    def path_of(self, key: str) -> Path:
        """Return the file of a program."""
        return self.folder / PROGRAMS / f"{key}{SUFFIX}"

    def read(self, key: str) -> bytes | None:
        """Return the file of a key and mark it as used; `None` if there is none."""
        path = self.path_of(key)
        try:
            data = path.read_bytes()
        except OSError as error:
            LOG.debug("not in the cache: %s", error)
            return None
        mark_as_used(path)
        return data

    def write(self, key: str, data: bytes) -> None:
        """Store the file of a key, as far as possible, within the limit."""
        if len(data) > self.limit:
            LOG.debug("not cached: %d bytes are over the limit", len(data))
            return
        try:
            write_file_atomically(self.path_of(key), data)
        except OSError as error:
            LOG.debug("cannot write to the cache: %s", error)
            return
        self._count_written_bytes(len(data))

    def remove(self, key: str) -> None:
        """Remove the file of a key."""
        remove_entry(self.path_of(key))

    def measure_and_evict(self) -> None:
        """
        Remove the temporary files of dead processes, and entries over the limit.
        """
        remove_abandoned_files(self.folder)
        self._size = evict_least_recently_used(self.folder, self.limit)

    def _count_written_bytes(self, count: int) -> None:
        """
        Add to the size of the cache. It is measured at the first write of the process,
        and when the limit seems to be exceeded.
        """
        if self._size is None or self._size + count > self.limit:
            self.measure_and_evict()
        else:
            self._size += count


def evict_least_recently_used(folder: Path, limit: int) -> int:
    """
    Remove entries, least recently used first, if they have more than `limit` bytes
    together. Return the bytes that remain.
    """
    entries = list_cache_entries(folder)
    size = sum(each.size for each in entries)
    if size <= limit:
        return size
    for each in entries:
        if size <= limit * KEPT_SHARE:
            break
        if remove_entry(each.path):
            LOG.debug("evicted %s", each.path)
            size -= each.size
    return size


def mark_as_used(path: Path) -> None:
    """Set the time of the last use of an entry, if the file system allows it."""
    try:
        os.utime(path)
    except OSError as error:
        LOG.debug("cannot mark as used: %s", error)


def open_cache() -> CacheStore | None:
    """Return the cache of the environment's settings; `None` if it is disabled."""
    if not is_cache_enabled():
        return None
    return _open_folder(cache_directory(), cache_limit_bytes())


@cache
def _open_folder(folder: Path, limit: int) -> CacheStore:
    """Return the store of a folder, one for a process."""
    return CacheStore(folder, limit)
