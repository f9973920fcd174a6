"""The map of the package."""

from __future__ import annotations

from pathlib import Path

import architecture
import pytest
from python_sources import FOLDERS, ROOT

PAGE = ROOT / "docs" / "architecture.md"


def test_the_page_has_the_picture_of_the_imports():
    text = PAGE.read_text(encoding="utf-8")
    package = architecture.Package.of(ROOT)
    assert set(package.folders) == set(FOLDERS)
    picture = architecture.format_report(package).partition("| folder |")[0]
    assert "tools --> compiler" in picture
    assert picture in text


def test_measures(tmp_path: Path):
    for path, text in {
        "a/__init__.py": "",
        "a/one.py": "from tlf.a import two\nclass A: ...\n",
        "a/two.py": "def f():\n    from tlf.a.one import A\n",
        "b/one.py": "from tlf.a.two import f\nclass A: ...\nclass _B: ...\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "src" / "tlf").mkdir(parents=True)
    for folder in ("a", "b"):
        (tmp_path / "src" / "tlf" / folder).symlink_to(tmp_path / folder)
    package = architecture.Package.of(tmp_path)

    assert package.cycles() == ["a"]
    assert list(package.folders) == ["a", "b"]
    assert package.direct_imports("b") == ["a"]
    assert (package.shared_name_count(), package.shared_class_count()) == (1, 1)
    assert (package.file_count("a"), package.line_count("b")) == (3, 3)


def test_pages_without_marks_are_refused(tmp_path: Path):
    (tmp_path / "page.md").write_text("no marks")
    with pytest.raises(SystemExit):
        architecture.main(["--write", str(tmp_path / "page.md")])
