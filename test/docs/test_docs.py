"""
The pages in `docs/` and beside it say what is so.

- A block of `mlir`, `toml`, `python` or `csv` with a file name after the language is
  written to that file. Programs must pass their verifier, or fail as their comments
  announce.
- A block of `mlir` without a name is a fragment, which must parse.
- In a `console` block, commands of TLF and `python` run in a folder with those files.
  Their output must have the lines shown, in that order; `...` stands for anything. They
  succeed, unless `$ echo $?` follows with another status. Scripts of the README have
  processes of their own.
"""

import ast
import dataclasses
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.located_parser import LocatedParser
from tlf.compiler.driver.universe import TLF_UNIVERSE
from tlf.dialects import interfaces
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.interfaces import DecompositionInterface
from tlf.dialects.target import Level, TilingConstraints, load_target_spec
from tlf.lowering.pipelines import PIPELINES
from tlf.tools import (
    bench_options,
    explain_options,
    import_options,
    plan_options,
    run_options,
    tlf_bench,
    tlf_explain,
    tlf_import,
    tlf_opt,
    tlf_plan,
    tlf_run,
    umbrella_command,
)
from tlf.tools.opt_options import FLAGS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md")))
}
MAX_LINES = 400
TOOLS = {
    "tlf": umbrella_command.main,
    "tlf-bench": tlf_bench.main,
    "tlf-explain": tlf_explain.main,
    "tlf-import": tlf_import.main,
    "tlf-opt": tlf_opt.main,
    "tlf-plan": tlf_plan.main,
    "tlf-run": tlf_run.main,
}

BLOCK = re.compile(
    r"^```(?P<language>\w*) *(?P<name>\S*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\[[^\]\n]*\]\((?P<to>[^)\s]+)\)")
CALL = re.compile(r"`[^`\n]*\]\([^`\n]*`")
"""Code that looks like a link, as of a map or of an array."""
PATH = re.compile(r"`(?P<path>[\w.-]+/[\w./-]*)`")
REFERENCE = "syntax-"
"""Pages that `bench/syntax.py` writes are as long as there are operations."""
ANNOUNCED = re.compile(r"# expected-error \{\{(.*)\}\}")
STATUS = "echo $?"
EVALUATED = "evaluated:"
"""Line shown by commands that compare plans by trial lowering."""

pages = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)

marks = {"docs/evaluation.md": pytest.mark.long}
commanded = [pytest.param(PAGES[name], marks=marks.get(name, ())) for name in PAGES]


@dataclass(frozen=True)
class Fence:
    """A fenced block of a page."""

    language: str
    name: str
    text: str


@dataclass
class Command:
    """A command of a `console` block, with the lines that it is said to print."""

    text: str
    shown: list[str] = dataclasses.field(default_factory=list[str])
    status: int = 0


def blocks(page: Path, language: str) -> list[Fence]:
    """The blocks of a page in one language."""
    text = page.read_text(encoding="utf-8")
    found = [Fence(**match.groupdict()) for match in BLOCK.finditer(text)]
    return [block for block in found if block.language == language]


def commands(text: str) -> list[Command]:
    """The commands of a `console` block."""
    found: list[Command] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:].strip()))
        elif line.strip():
            found[-1].shown.append(line)
    for command, after in pairwise(found):
        if after.text == STATUS:
            command.status = int(after.shown[0])
    return [each for each in found if each.text.split()[0] in (*TOOLS, "python")]


@pytest.fixture
def folder(page: Path, tmp_path: Path) -> Path:
    """A folder with the files of a page, and the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for language in ("mlir", "toml", "python", "csv"):
        for block in blocks(page, language):
            if block.name:
                (tmp_path / block.name).write_text(block.text, encoding="utf-8")
    return tmp_path


class FragmentParser(LocatedParser):
    """
    Reads operations whose operands need not be defined.
    """

    def parse_all(self) -> list[Operation]:
        ops: list[Operation] = []
        while self._current_token.kind is not MLIRTokenKind.EOF:
            ops.append(self.parse_operation())
        return ops


@pages
def test_programs(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]):
    for block in blocks(page, "mlir"):
        if not block.name:
            assert FragmentParser(new_context(), block.text, str(page)).parse_all()
            continue
        file = str(folder / block.name)
        try:
            tlf_opt.main([file, "--split-input-file", "--verify-diagnostics"])
        except SystemExit:
            pytest.fail(f"{block.name}: {capsys.readouterr().err}")


@pages
def test_paths(page: Path):
    """Paths that name something in a folder of the project exist."""
    folders = {each.name for each in ROOT.iterdir() if each.is_dir()}
    named = {found["path"] for found in PATH.finditer(page.read_text(encoding="utf-8"))}
    inside = [path for path in named if path.split("/")[0] in folders]
    assert [path for path in inside if not (ROOT / path).exists()] == []


@pages
def test_target_descriptions(page: Path, folder: Path):
    for block in blocks(page, "toml"):
        assert block.name, "expected a file name after `toml`"
        if (announced := ANNOUNCED.search(block.text)) is None:
            assert load_target_spec(str(folder / block.name)).levels
            continue
        with pytest.raises(DiagnosticException, match=re.escape(announced[1])):
            load_target_spec(str(folder / block.name))


class Shell:
    """
    Runs commands in a folder: TLF's in this process, which is quick, and scripts, too,
    unless `is_fresh`.
    """

    def __init__(
        self, folder: Path, capfd: pytest.CaptureFixture[str], is_fresh: bool
    ) -> None:
        self.folder = folder
        self.capfd = capfd
        self.is_fresh = is_fresh

    def run(self, command: str) -> tuple[int, list[str]]:
        """Run a command; return its status, and what it says, errors first."""
        name, *words = shlex.split(command)
        if name == "python" and (self.is_fresh or words[0] == "-m"):
            return self._process(words)
        self.capfd.readouterr()
        try:
            if name == "python":
                runpy.run_path(words[0], run_name="__main__")
            else:
                TOOLS[name](words)
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        printed = self.capfd.readouterr()
        return status, _lines(printed.err + printed.out)

    def _process(self, words: Sequence[str]) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, _lines(done.stdout)


@pytest.fixture
def shell(
    page: Path,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """A shell in the folder of a page."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TLF_CACHE_DIR", str(folder / "cache"))
    return Shell(folder, capfd, is_fresh=page.name == "README.md")


def _lines(text: str) -> list[str]:
    return [_spaceless(line) for line in text.splitlines()]


def _spaceless(line: str) -> str:
    return " ".join(line.split())


def first_missing(shown: Sequence[str], printed: Sequence[str]) -> str | None:
    """The first line shown that was not printed after the one before it."""
    rest = iter(printed)
    for line in shown:
        parts = _spaceless(line).split("...")
        pattern = re.compile(".*".join(re.escape(part) for part in parts))
        if not any(pattern.fullmatch(each) for each in rest):
            return line
    return None


@pytest.mark.parametrize("page", commanded, ids=PAGES)
def test_commands(page: Path, shell: Shell, request: pytest.FixtureRequest):
    for block in blocks(page, "console"):
        for command in commands(block.text):
            if not any(each.startswith(EVALUATED) for each in command.shown):
                request.getfixturevalue("first_plans")
            status, printed = shell.run(command.text)
            listed = "\n".join((f"$ {command.text}", *printed))
            assert status == command.status, listed
            missing = first_missing(command.shown, printed)
            assert missing is None, f"not printed: {missing}\n{listed}"


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md"])
def test_operation_to_add(folder: Path):
    kind = runpy.run_path(str(folder / "softsign.py"))["SoftsignOp"]
    array = np.random.default_rng(3).uniform(-9, 9, (5, 7)).astype(np.float32)
    op = kind(test.TestOp(result_types=[TensorType(f32, array.shape)]).results[0])

    op.verify()
    assert isinstance(op, UnaryOperation)
    (found,) = op.compute_reference(array)
    assert np.allclose(found, array / (1 + np.abs(array)), rtol=1e-6)
    block = Block()
    assert isinstance(op, DecompositionInterface)
    (result,) = op.decompose(Builder(InsertPoint.at_end(block)))
    assert result.type == op.results[0].type


def anchors(page: Path) -> set[str]:
    """Return the anchors that links to headings of a page may name."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in titles
    }


@pages
def test_links(page: Path):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.finditer(CALL.sub("", text)):
        file, _, heading = link["to"].partition("#")
        if "://" in file:
            continue
        to = (page.parent / file).resolve() if file else page
        assert to.exists(), link["to"]
        assert not heading or heading in anchors(to), link["to"]


def test_files_of_one_name_are_the_same():
    """Whoever saves the files of several pages in one folder loses none."""
    first: dict[str, str] = {}
    for page in PAGES.values():
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            name, text = block["name"], block["text"]
            if name:
                assert first.setdefault(name, text) == text, (page, name)


@pages
def test_pages_are_short(page: Path):
    if page.name.startswith(REFERENCE):
        return
    assert len(page.read_text(encoding="utf-8").splitlines()) < MAX_LINES


def test_index_names_every_page():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {link["to"] for link in LINK.finditer(index)}
    wanted = {page.name for page in DOCS.glob("*.md")} - {"index.md"}

    assert wanted <= linked


def words(name: str) -> set[str]:
    """
    Return the words that a page sets in the type of code, and those of its titles.
    """
    text = (DOCS / name).read_text(encoding="utf-8")
    found = [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^#+ (.*)", text, re.M)]
    return set(re.findall(r"[\w.-]+", " ".join(found)))


def test_every_operation_is_listed():
    dialects = [factory() for factory in TLF_UNIVERSE.all_dialects.values()]
    names = {op.name for dialect in dialects for op in dialect.operations}

    assert names <= words("operations.md")


def test_every_pass_and_option_is_described():
    known = {*TLF_UNIVERSE.all_passes, *TLF_UNIVERSE.all_targets, *PIPELINES}
    passes, formats = TLF_UNIVERSE.all_passes, TLF_UNIVERSE.all_targets
    for factory in (*passes.values(), *formats.values()):
        fields = {field.name for field in dataclasses.fields(factory())}
        known |= {field.replace("_", "-") for field in fields - {"name"}}

    kinds = ("graph-", "layout-", "analysis-", "mem-", "")
    assert known <= set[str]().union(*(words(f"{kind}passes.md") for kind in kinds))


def test_every_flag_is_described():
    flags = {f"--{name}" for name in FLAGS} | {"--print-ir-after", "--emit", "--output"}
    known = (
        bench_options.BenchOptions,
        explain_options.ExplainOptions,
        import_options.ImportOptions,
        plan_options.PlanOptions,
        run_options.RunOptions,
    )
    for name in {name for options in known for name in options.__annotations__}:
        if name not in ("experiment", "file", "files", "source", "locations"):
            flags.add("--" + name.replace("_", "-"))

    assert flags <= words("tools.md") | words("explain.md")


def test_every_field_of_a_target_is_described():
    fields = {
        name for kind in (Level, TilingConstraints) for name in kind.__annotations__
    }

    assert fields <= words("targets.md")


def test_every_interface_is_described():
    names = {name for name in vars(interfaces) if name.endswith("Interface")}

    assert names <= words("interfaces.md")


@cache
def messages() -> tuple[str, ...]:
    """Every text in the sources, a `\0` for each part that is computed."""
    folders = (path for path in (ROOT / "src/tlf").iterdir() if path.is_dir())
    files = [file for each in folders for file in each.resolve().rglob("*.py")]
    return tuple(text for file in files for text in _texts(file))


def _texts(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "\0"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def quoted_messages() -> list[str]:
    """The messages in the tables of docs/limits.md: what their first column says."""
    text = (DOCS / "limits.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([^|]+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("message", quoted_messages())
def test_limits_quote_messages(message: str):
    parts = message.replace("``", "").split("...")
    pattern = re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)

    assert any(pattern.search(text) for text in messages())
