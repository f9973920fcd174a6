"""Atomic writing: a file is complete or it is not there."""

import os
from pathlib import Path

import numpy as np
import pytest

from tlf.runtime.array_file import write_array_file
from tlf.runtime.atomic_write import write_atomically


def fail_after_a_part(file: Path) -> None:
    file.write_text("part")
    raise KeyboardInterrupt


def test_interrupted(tmp_path: Path):
    file = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, fail_after_a_part)
    assert list(tmp_path.iterdir()) == []
    file.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, fail_after_a_part)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]


def test_links_and_permissions_are_kept(tmp_path: Path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    file.chmod(0o640)
    link.symlink_to("file")
    write_atomically(link, lambda path: path.write_text("after"))
    assert (link.is_symlink(), file.read_text()) == (True, "after")
    assert file.stat().st_mode & 0o777 == 0o640


def test_devices_stay_devices():
    write_atomically(Path(os.devnull), lambda path: path.write_text("text"))
    assert Path(os.devnull).is_char_device()


def test_errors_name_the_file(tmp_path: Path):
    file, other = tmp_path / "none" / "file", str(tmp_path / "other" / "file")
    for failing, name in (file, str(file)), (tmp_path, str(tmp_path)):
        with pytest.raises(OSError, match=r"\[Errno") as caught:
            write_atomically(failing, lambda path: path.write_text("text"))
        assert caught.value.filename == name
    with pytest.raises(FileNotFoundError) as missing:
        write_atomically(tmp_path / "file", lambda path: Path(other).write_text("text"))
    assert missing.value.filename == other
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["y", "y.npy", "y.1"])
def test_arrays(name: str, tmp_path: Path):
    write_array_file(tmp_path / name, np.arange(3))
    (file,) = tmp_path.iterdir()
    assert file.name == f"{name.removesuffix('.npy')}.npy"
    assert np.load(file).tolist() == [0, 1, 2]
