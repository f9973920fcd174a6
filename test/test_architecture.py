"""The rules of the repository's layout, enforced."""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from import_cycles import find_import_cycles, imported_modules
from module_state import changed_state
from python_sources import FOLDERS, ROOT, sources

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.universe import TLF_UNIVERSE
from tlf.lowering.pipelines import PIPELINES

BELOW = {
    "machine": (),
    "support": (),
    "dialects": ("machine", "support"),
    "analysis": ("dialects",),
    "planner": ("analysis",),
    "passes": ("planner",),
    "lowering": ("passes",),
    "runtime": ("machine", "support"),
    "frontend": ("dialects",),
    "compiler": ("lowering", "runtime", "frontend"),
    "tools": ("compiler",),
}
"""The folders right below each of `FOLDERS`."""


def _below(folder: str) -> set[str]:
    return {folder}.union(*map(_below, BELOW[folder]))


MAY_IMPORT = {folder: _below(folder) for folder in FOLDERS}

MAX_FILE_LINES = 700
MAX_FUNCTION_LINES = 40
"""Length of functions in the folders of the package."""

MAX_TEST_FUNCTION_LINES = 60
"""Length of functions elsewhere, such as tests and benchmarks."""

READ_ONLY = ("support", "machine", "analysis", "planner")
"""Folders that rewrite no program; the planner changes copies through callbacks."""

REWRITING = ("Rewriter", "PatternRewriter", "tlf.dialects.located_rewriting")

LONG_FILES: frozenset[str] = frozenset()
"""Files that may be longer. Stays empty: a long file has a second thing in it."""

UNIVERSE: Mapping[str, Mapping[str, object]] = {
    "dialects": TLF_UNIVERSE.all_dialects,
    "passes": TLF_UNIVERSE.all_passes,
    "targets": TLF_UNIVERSE.all_targets,
}


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_point_downwards(folder: str):
    wrong = {
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sources(folder)
        for module in imported_modules(file)
        if module.startswith("tlf.") and module.split(".")[1] not in MAY_IMPORT[folder]
    }

    assert not wrong


def _rewriting_imports(source: str) -> set[str]:
    """Return the modules and names imported that rewrite programs."""
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom)]
    names = {alias.name for node in nodes for alias in node.names}
    return (names | {node.module or "" for node in nodes}).intersection(REWRITING)


@pytest.mark.parametrize("folder", READ_ONLY)
def test_facts_and_decisions_rewrite_no_program(folder: str):
    wrong = [
        str(file.relative_to(ROOT))
        for file in sources(folder)
        if _rewriting_imports(file.read_text())
    ]
    assert not wrong


@pytest.mark.parametrize(
    "source",
    [
        "from xdsl.rewriter import InsertPoint, Rewriter",
        "from tlf.dialects.located_rewriting import replace_op",
    ],
)
def test_imports_that_rewrite_are_found(source: str):
    assert _rewriting_imports(source)


def test_imports_of_the_children_of_a_folder_point_one_way():
    assert find_import_cycles(ROOT, [*MAY_IMPORT]) == {}


def test_cycles_are_found(tmp_path: Path):
    for path, text in {
        "a/__init__.py": "",
        "a/one/x.py": "from tlf.a import two",
        "a/two.py": "def f():\n    from tlf.a.one.y import z",
        "a/one/y.py": "",
        "b/x.py": "from tlf.b.y import z",
        "b/y.py": "if TYPE_CHECKING:\n    from tlf.b.x import w",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = find_import_cycles(tmp_path, ["a", "b"])
    assert {name: set(cycle) for name, cycle in found.items()} == {
        "a": {"a.one", "a.two"}
    }


@pytest.mark.parametrize("folder", ["machine", "runtime"])
def test_runtime_knows_no_compiler(folder: str):
    wrong = {
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sources(folder)
        for module in imported_modules(file)
        if module.split(".")[0] == "xdsl"
    }

    assert not wrong


def test_modules_are_imported_through_the_package():
    """A second copy of a module, by another name, would define its classes twice."""
    wrong = {
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sources()
        for module in imported_modules(file)
        if module.split(".")[0] in MAY_IMPORT
    }

    assert not wrong


def test_package_links_every_folder():
    package = ROOT / "src/tlf"
    links = {
        path.name: path.resolve() for path in package.iterdir() if path.is_symlink()
    }

    assert links == {folder: ROOT / folder for folder in MAY_IMPORT}


def test_every_package_folder_is_a_package():
    missing = {
        str(file.parent.relative_to(ROOT))
        for file in sources(*MAY_IMPORT)
        if not (file.parent / "__init__.py").exists()
    }

    assert not missing


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in UNIVERSE for name in UNIVERSE[kind]]
)
def test_registered_under_its_own_name(kind: str, name: str):
    factory = UNIVERSE[kind][name]

    assert callable(factory)
    assert getattr(factory(), "name") == name


def test_every_pass_is_run_by_a_lit_test():
    """Each pass, pipeline and output format stands in the RUN line of some test."""
    run_lines = "\n".join(
        line
        for file in (ROOT / "test").rglob("*.mlir")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "RUN:" in line
    )
    named = set(re.findall(r"[\w-]+", run_lines))
    known = {*TLF_UNIVERSE.all_passes, *TLF_UNIVERSE.all_targets, *PIPELINES}

    assert known <= named


def test_pipelines_are_made_of_known_passes():
    for name in PIPELINES:
        assert build_passes(name, PASSES, PIPELINES)


def test_files_are_short():
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for file in sources()
    }
    long = {name for name, lines in lengths.items() if lines > MAX_FILE_LINES}

    assert long == LONG_FILES


def _long_functions(files: Iterable[Path], max_lines: int) -> set[str]:
    """Return the functions of files that have too many lines."""
    return {
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= max_lines
    }


def test_functions_are_short():
    package = sources(*FOLDERS)
    others = set(sources()).difference(package)

    assert not _long_functions(package, MAX_FUNCTION_LINES)
    assert not _long_functions(others, MAX_TEST_FUNCTION_LINES)


def test_modules_change_no_state_of_theirs():
    found = {file: changed_state(file.read_text()) for file in sources(*FOLDERS)}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize("change", ["A[1] = 2", "A.update(b)", "del A[1]", "A[1] += 1"])
def test_changes_of_state_are_found(change: str):
    source = f"A: dict[int, int] = {{}}\ndef f(b):\n    {change}"
    assert changed_state(source) == ["A"]
    assert changed_state("def f():\n    global a\n    a = 1") == ["!a"]
    assert changed_state("def f(A):\n    A[1] = 2") == []
