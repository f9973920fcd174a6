"""
Measure the folders of the package and their imports: a diagram and tables.

    python bench/architecture.py
    python bench/architecture.py --write docs/architecture.md

Prints a diagram of the imports between folders, and tables: files, lines and imports of
each folder, and measures of the package. With `--write`, the report replaces the text
between the markers of a page.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

from import_cycles import find_import_cycles, imports_of, modules_below

ROOT = Path(__file__).parents[1]
PACKAGE = "tlf"
MARKED = re.compile(
    r"(<!-- begin architecture -->\n).*(<!-- end architecture -->)", re.S
)


class ArchitectureOptions(argparse.Namespace):
    """Command-line options."""

    write: Path | None


@dataclass(frozen=True)
class SourceModule:
    """A Python file of the package."""

    name: str
    """Dotted name below the package, without `__init__`."""
    path: Path
    text: str

    @staticmethod
    def of(name: str, path: Path) -> SourceModule:
        """Read a file."""
        return SourceModule(name, path, path.read_text(encoding="utf-8"))

    @property
    def folder(self) -> str:
        """Top-level folder."""
        return self.name.partition(".")[0]

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree."""
        return ast.parse(self.text)


@dataclass(frozen=True)
class Package:
    """Modules of the package."""

    root: Path
    modules: Mapping[str, SourceModule]

    @staticmethod
    def of(root: Path) -> Package:
        """Read the folders linked from `src/tlf`."""
        links = (root / "src" / PACKAGE).iterdir()
        folders = sorted(each.name for each in links if each.is_dir())
        paths = modules_below(root, folders)
        return Package(
            root, {name: SourceModule.of(name, path) for name, path in paths}
        )

    @property
    def folders(self) -> Sequence[str]:
        """
        Top-level folders in topological order: each after the folders that it imports.
        """
        graph = {each: sorted(self.imports[each]) for each in sorted(self.imports)}
        return list(TopologicalSorter(graph).static_order())

    @cached_property
    def edges(self) -> frozenset[tuple[str, str]]:
        """Import edges: pairs of an importing and an imported module."""
        paths = {name: module.path for name, module in self.modules.items()}
        return frozenset(
            (name, imported)
            for name, module in self.modules.items()
            for imported in imports_of(module.path, paths)
            if imported in self.modules
        )

    @cached_property
    def imports(self) -> Mapping[str, set[str]]:
        """For each folder, the other folders that its modules import."""
        result: dict[str, set[str]] = {m.folder: set() for m in self.modules.values()}
        for source, target in self.edges:
            first, second = source.partition(".")[0], target.partition(".")[0]
            if first != second:
                result[first].add(second)
        return result

    def direct_imports(self, folder: str) -> list[str]:
        """Return the imported folders that no other imported folder imports."""
        imported = self.imports[folder]
        transitive = set[str]().union(
            *(self._transitive_imports(each) for each in imported)
        )
        return sorted(imported - transitive)

    def _transitive_imports(self, folder: str) -> set[str]:
        return self.imports[folder].union(
            *map(self._transitive_imports, self.imports[folder])
        )

    def line_count(self, folder: str) -> int:
        """Return the number of lines in the files of a folder."""
        modules = (m for m in self.modules.values() if m.folder == folder)
        return sum(module.text.count("\n") for module in modules)

    def file_count(self, folder: str) -> int:
        """Return the number of files of a folder."""
        return sum(module.folder == folder for module in self.modules.values())

    def cycles(self) -> list[str]:
        """Return the packages whose children import each other in a cycle."""
        return sorted(find_import_cycles(self.root, self.folders))

    def shared_name_count(self) -> int:
        """
        Return the number of file names, `__init__.py` aside, that several files have.
        """
        names = Counter(m.path.name for m in self.modules.values())
        return sum(n > 1 for name, n in names.items() if name != "__init__.py")

    def shared_class_count(self) -> int:
        """Return the number of public class names that several files define."""
        names = Counter(
            node.name
            for module in self.modules.values()
            for node in module.tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        return sum(count > 1 for count in names.values())


def format_report(package: Package) -> str:
    """Return the diagram and the tables, in Markdown."""
    total = sum(map(package.line_count, package.folders))
    arrows = [
        f"    {folder} --> {below}"
        for folder in reversed(package.folders)
        for below in package.direct_imports(folder)
    ]
    rows = [
        f"| `{folder}/` | {package.file_count(folder)} | "
        f"{package.line_count(folder):,} "
        f"| {package.line_count(folder) / total:.0%} "
        f"| {', '.join(sorted(package.imports[folder])) or 'nothing'} |"
        for folder in package.folders
    ]
    largest = max(package.folders, key=package.line_count)
    measures = [
        ("share of the largest folder", f"{package.line_count(largest) / total:.0%}"),
        ("packages with a cycle of imports", str(len(package.cycles()))),
        ("file names that several files have", str(package.shared_name_count())),
        ("class names that several files define", str(package.shared_class_count())),
    ]
    return "\n".join(
        [
            "```mermaid",
            "graph TD",
            *arrows,
            "```",
            "",
            "| folder | files | lines | share | imports |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "| measure | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in measures),
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report, or write it into a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--write", type=Path, help="page to write it into")
    options = parser.parse_args(arguments, namespace=ArchitectureOptions())
    if options.write is None:
        print(format_report(Package.of(ROOT)), end="")
        return
    page = options.write.read_text(encoding="utf-8")
    if MARKED.search(page) is None:
        parser.error(f"expected the marks of the report in `{options.write}`")
    text = format_report(Package.of(ROOT))
    updated = MARKED.sub(lambda found: f"{found[1]}{text}{found[2]}", page)
    options.write.write_text(updated, encoding="utf-8")


if __name__ == "__main__":
    main()
