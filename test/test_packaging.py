"""Contents of the wheel, the sdist, and the wheel made from the sdist."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "analysis",
    "compiler",
    "dialects",
    "frontend",
    "lowering",
    "machine",
    "passes",
    "planner",
    "runtime",
    "support",
    "tools",
)


def build(output: Path, *options: str) -> set[str]:
    """Build the project; return the names of the files in the wheel."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output)]
    subprocess.run([*command, *options, str(ROOT)], check=True, capture_output=True)
    (wheel,) = output.glob("*.whl")
    return set(ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return build(tmp_path_factory.mktemp("wheel"), "--wheel")


def test_sdist_makes_the_same_wheel(wheel: set[str], tmp_path: Path):
    assert build(tmp_path) == wheel


def test_wheel_holds_every_file(wheel: set[str]):
    """Sources, and the data files among them."""
    files = {
        f"tlf/{file.relative_to(ROOT)}"
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    assert files <= wheel
    assert "tlf/py.typed" in wheel
    assert "tlf/dialects/target/presets/npu.toml" in wheel


def test_wheel_holds_nothing_else(wheel: set[str]):
    folders = {name.split("/")[1] for name in wheel if name.count("/") > 1}
    packaged = {name for name in folders if not name.startswith("licenses")}

    assert packaged == set(PACKAGES)
    assert {name.split("/")[0] for name in wheel if ".dist-info" not in name} == {"tlf"}
