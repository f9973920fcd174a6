"""`tlf cache`: what it shows, lists and removes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlf.compiler.backends.emitted_program import EmittedProgram
from tlf.compiler.backends.program_cache import ProgramCache
from tlf.runtime.storage.cache_entries import COMPILED_KERNELS, KERNEL_SOURCES
from tlf.runtime.storage.cache_store import CacheStore
from tlf.tools import cache_command
from tlf.tools.cache_command import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two programs and two kernels."""
    folder = tmp_path / "cache"
    for name, value in (("", "1"), ("_DIR", str(folder)), ("_SIZE", "1M")):
        monkeypatch.setenv(f"TLF_CACHE{name}", value)
    cache = ProgramCache(CacheStore(folder, 1 << 20))
    for age, name in enumerate(("main", "f")):
        cache.store(name, EmittedProgram("npu", name), name, f"npu-{name}")
        os.utime(cache.files.path_of(name), (1e9 - age, 1e9 - age))
    for kernel in (KERNEL_SOURCES, f"{COMPILED_KERNELS}/A"):
        (folder / kernel).mkdir(parents=True)
        (folder / kernel / "k.py").write_bytes(bytes(1000))
    (folder / "mine.txt").write_text("no entry")
    return folder


def test_size(folder: Path, capsys: pytest.CaptureFixture[str]):
    main([])
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) - len("no entry")
    assert capsys.readouterr().out.splitlines() == [
        f"folder    {folder}",
        "programs  2",
        "kernels   2",
        f"size      {size:,} bytes",
        "limit     1,048,576 bytes",
    ]


def test_disabled(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("TLF_CACHE", "0")
    main([])
    assert "state     disabled by TLF_CACHE=0\n" in capsys.readouterr().out


def test_list(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "programs" / "bad.tlf").write_text("damaged")
    main(["list"])
    title, *rows = capsys.readouterr().out.splitlines()
    assert title.split() == ["program", "target", "bytes", "last", "used"]
    assert [row.split()[0] for row in rows] == ["(damaged)", "main", "f"]
    size = (folder / "programs" / "main.tlf").stat().st_size
    assert rows[1].split()[:4] == ["main", "npu-main", str(size), "2001-09-09"]


def test_empty_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path / "none"))
    for action in ("show", "list", "clear"):
        main([action])
    assert "removed 0 entries, 0 bytes" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_clear(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Only entries are removed, so that a wrong folder does no harm."""
    main(["clear"])
    assert "removed 4 entries, " in capsys.readouterr().out
    assert [p for p in folder.rglob("*") if p.is_file()] == [folder / "mine.txt"]


def test_entries_that_cannot_be_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def remove_nothing(path: Path) -> bool:
        del path
        return False

    monkeypatch.setattr(cache_command, "remove_entry", remove_nothing)
    with pytest.raises(SystemExit, match="1"):
        main(["clear"])
    assert capsys.readouterr().err == f"{folder}: error: cannot remove 4 entries\n"


def test_path(folder: Path, capsys: pytest.CaptureFixture[str]):
    main(["path"])
    assert capsys.readouterr().out == f"{folder}\n"


def test_wrong_action(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["shrink"])
    assert caught.value.code == 1
    message = "tlf cache: error: argument action: invalid"
    assert capsys.readouterr().err.startswith(message)


def test_imports_little():
    """Neither xDSL nor PyTorch is imported."""
    program = """
import sys
from tlf.tools.cache_command import main
main(["list"])
print({"xdsl", "torch"} & sys.modules.keys())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"
