"""Processes that use a cache and are killed at any point."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from forked import install_kill_points, start_fork, wait_for

from tlf.runtime.storage.cache_entries import COMPILED_KERNELS, list_cache_entries
from tlf.runtime.storage.cache_store import CacheStore
from tlf.runtime.storage.temporary_files import is_temporary

LIMIT = 4000


def contents(key: str) -> bytes:
    """Contents that the key tells, of 64 to 960 bytes."""
    digest = sha256(key.encode()).digest()
    return digest * (2 + digest[0] % 29)


def write_kernel_folder(folder: Path, name: str) -> Path:
    """Write the folder of a compiled kernel."""
    path = folder / COMPILED_KERNELS / name
    # Another process may evict the folder at any time, also while it is made.
    with suppress(FileNotFoundError, FileExistsError):
        path.mkdir(parents=True, exist_ok=True)
        for part in ("a.cubin", "b.json"):
            (path / part).write_bytes(contents(name))
    return path


def use_cache(folder: Path, keys: int = 8) -> None:
    """Write, read and evict entries."""
    store = CacheStore(folder, LIMIT)
    for number in range(keys):
        key = f"k{number}"
        store.write(key, contents(key))
        assert store.read(key) in (None, contents(key))
        write_kernel_folder(folder, f"kernel{number}")
    store.measure_and_evict()


def check_cache(folder: Path, keys: int = 8) -> None:
    """Check that all entries are right, and that the cache can be used."""
    store = CacheStore(folder, LIMIT)
    for number in range(keys):
        assert store.read(f"k{number}") in (None, contents(f"k{number}"))
    store.write("new", contents("new"))
    assert store.read("new") == contents("new")
    assert sum(each.size for each in list_cache_entries(folder)) <= LIMIT
    assert not [path for path in folder.rglob("*") if is_temporary(path)]


def count_operations(folder: Path) -> int:
    """Return the number of file operations and partial writes of `use_cache`."""

    def count() -> None:
        points = install_kill_points()
        use_cache(folder / "whole")
        total = points.count
        (folder / "count").write_text(str(total))

    assert wait_for(start_fork(count)) == 0
    return int((folder / "count").read_text())


def kill_at_points(folder: Path, points: int) -> None:
    """Kill a process at some of its file operations, and check what it leaves."""
    total = count_operations(folder)
    assert total > points
    for index in range(points):
        used, fatal = folder / f"{index}", 1 + index * total // points

        def work(used: Path = used, fatal: int = fatal) -> None:
            install_kill_points(fatal)
            use_cache(used)

        assert wait_for(start_fork(work)) == -signal.SIGKILL, fatal
        check_cache(used)


def use_forever(folder: Path) -> None:
    """Use a cache until the process is killed."""
    print("ready", flush=True)
    while True:
        use_cache(folder)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        kill_at_points(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        use_forever(Path(sys.argv[1]))
