"""The cache of files: kills, faults of the file system, eviction, and its settings."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cache_workload import (
    LIMIT,
    check_cache,
    contents,
    use_cache,
    write_kernel_folder,
)
from forked import start_fork, wait_for

from tlf.runtime.storage.cache_entries import (
    KERNEL_SOURCES,
    list_cache_entries,
)
from tlf.runtime.storage.cache_settings import (
    DEFAULT_LIMIT,
    cache_directory,
    cache_limit_bytes,
)
from tlf.runtime.storage.cache_store import (
    CacheStore,
    evict_least_recently_used,
    open_cache,
)
from tlf.runtime.storage.temporary_files import make_temporary_name

WORKLOAD = Path(__file__).parents[2] / "helpers" / "cache_workload.py"
"""Script of processes that are killed; they are small, so that forks are quick."""


def test_killed_at_any_operation(tmp_path: Path):
    """A process is killed at each of 200 file operations and partial writes."""
    command = [sys.executable, str(WORKLOAD), str(tmp_path), "200"]
    subprocess.run(command, check=True)


def test_killed_at_any_time(tmp_path: Path):
    command = [sys.executable, str(WORKLOAD), str(tmp_path)]
    generator = random.Random(0)
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(generator.uniform(0.005, 0.05))
            process.kill()
        check_cache(tmp_path)


def test_concurrent_eviction(tmp_path: Path):
    """Processes that evict each other's entries read whole files or none."""
    workers = [start_fork(lambda: use_cache(tmp_path, 25)) for _ in range(4)]
    assert [wait_for(each) for each in workers] == [0] * 4
    check_cache(tmp_path, 25)


def raise_os_error(number: int) -> Callable[..., None]:
    """Return a function that fails with an error of the operating system."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize(
    "operation", ["Path.mkdir", "Path.write_bytes", "os.replace", "Path.read_bytes"]
)
def test_faults_of_the_file_system(
    operation: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = CacheStore(tmp_path, LIMIT)
    owner, name = operation.split(".")
    with monkeypatch.context() as patched:
        target = Path if owner == "Path" else os
        patched.setattr(target, name, raise_os_error(number))
        store.write("k", contents("k"))
        assert store.read("k") is None
    check_cache(tmp_path, 0)


def test_disk_is_full_after_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write = Path.write_bytes

    def write_part(path: Path, data: bytes) -> int:
        write(path, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", write_part)
        CacheStore(tmp_path, LIMIT).write("k", contents("k"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_folder_below_a_file(tmp_path: Path):
    (tmp_path / "file").write_text("text")
    store = CacheStore(tmp_path / "file" / "cache", LIMIT)
    store.write("k", contents("k"))
    store.measure_and_evict()
    assert store.read("k") is None


def test_times_of_use_cannot_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = CacheStore(tmp_path, LIMIT)
    store.write("k", contents("k"))
    monkeypatch.setattr(os, "utime", raise_os_error(errno.EROFS))
    assert store.read("k") == contents("k")


def test_eviction_is_least_recently_used_first(tmp_path: Path):
    store = CacheStore(tmp_path, 1000)
    for age, key in enumerate(("c", "b", "a")):
        store.write(key, bytes(300))
        os.utime(store.path_of(key), (1000 - age, 1000 - age))
    assert store.read("a") == bytes(300)
    store.write("d", bytes(300))
    assert store.read("b") is None
    assert None not in (store.read("a"), store.read("d"), store.read("c"))


def test_kernels_are_evicted_as_a_whole(tmp_path: Path):
    first, second = (write_kernel_folder(tmp_path, name) for name in ("a", "b"))
    source = tmp_path / KERNEL_SOURCES / "k.py"
    source.parent.mkdir()
    source.write_bytes(bytes(50))
    os.utime(source, (1, 1))
    os.utime(first, (2, 2))
    size = sum(each.size for each in list_cache_entries(tmp_path))
    assert evict_least_recently_used(tmp_path, size) == size
    left = evict_least_recently_used(tmp_path, size - 51)
    assert not source.exists()
    assert not first.exists()
    assert [each.path for each in list_cache_entries(tmp_path)] == [second]
    assert left == 2 * len(contents("b"))


def test_file_over_the_limit(tmp_path: Path):
    store = CacheStore(tmp_path, 1000)
    store.write("small", bytes(500))
    store.write("large", bytes(1001))
    assert store.read("small") == bytes(500)
    assert store.read("large") is None


def test_temporary_files_of_running_processes_stay(tmp_path: Path):
    store = CacheStore(tmp_path, LIMIT)
    store.write("k", contents("k"))
    mine = store.path_of("k").with_name(make_temporary_name())
    other = mine.with_name("tmp-0badcafe-1-abc")
    for path in (mine, other):
        path.write_bytes(b"")
    store.measure_and_evict()
    assert mine.exists()
    assert other.exists()
    os.utime(other, (1, 1))
    store.measure_and_evict()
    assert mine.exists()
    assert not other.exists()


@pytest.mark.parametrize(
    ("text", "size"),
    [("100", 100), ("64K", 65536), ("2 GiB", 2 << 30), ("1mb", 1 << 20), ("0", 0)],
)
def test_limit(text: str, size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TLF_CACHE_SIZE", text)
    assert cache_limit_bytes() == size


def test_wrong_limit(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setenv("TLF_CACHE_SIZE", "much")
    assert cache_limit_bytes() == DEFAULT_LIMIT
    assert "expected TLF_CACHE_SIZE to be a size" in caplog.text


def test_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TLF_CACHE_DIR", "/a/b")
    assert cache_directory() == Path("/a/b")
    monkeypatch.delenv("TLF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert cache_directory() == Path("/c/tlf")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache/tlf"
    monkeypatch.setattr(Path, "home", _raise_no_home)
    assert cache_directory().name.startswith("tlf-cache-")


def _raise_no_home() -> Path:
    raise RuntimeError("no home")


def test_disabled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TLF_CACHE", "0")
    assert open_cache() is None
    monkeypatch.setenv("TLF_CACHE", "1")
    assert open_cache() is not None
