"""Start-up: the package and the help of the tools import no more than they need."""

import subprocess
import sys

import pytest

HEAVY = ("ml_dtypes", "msgspec", "numpy", "safetensors", "sympy", "torch", "triton")
"""Packages that take long to import, in addition to xDSL."""

LISTING = "; import sys; print(*sys.modules, sep='\\n', file=sys.stderr)"
HELP = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr))
from tlf.tools.{module} import main
main([{arguments}])
"""


def imported_modules(program: str) -> set[str]:
    """Return the modules that a program in a new interpreter imports."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(done.stderr.splitlines())


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_package_imports_nothing_else():
    before = imported_modules(LISTING.removeprefix("; "))
    assert imported_modules(f"import tlf{LISTING}") - before == {"tlf"}


@pytest.mark.parametrize("tool", ["opt", "run", "explain", "import", "plan", "bench"])
def test_help_imports_no_compiler(tool: str):
    program = HELP.format(module=f"tlf_{tool}", arguments="'--help'")
    modules = imported_modules(program)
    assert f"tlf.tools.{tool}_options" in modules
    assert packages(modules).isdisjoint({"xdsl", *HEAVY})

    same = HELP.format(module="umbrella_command", arguments=f"'{tool}', '--help'")
    added = imported_modules(same) - modules
    assert {name for name in added if not name.startswith("importlib")} == {
        "tlf.tools.umbrella_command"
    }


def test_help_of_all_tools_imports_none():
    modules = imported_modules(
        HELP.format(module="umbrella_command", arguments="'--help'")
    )
    assert "tlf.tools.umbrella_command" in modules
    assert packages(modules).isdisjoint({"xdsl", *HEAVY})
    assert not [name for name in modules if name.endswith("_options")]


def test_pipelines_import_no_algebra():
    program = """
from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pipeline import build_passes
from tlf.lowering.pipelines import PIPELINES
build_passes(",".join(PIPELINES), PASSES, PIPELINES)"""
    modules = imported_modules(program + LISTING.replace("; ", "\n", 1))
    assert "tlf.passes.graph.graph_split_k_reductions" in modules
    assert "sympy" not in modules


def test_imports_are_found():
    modules = imported_modules(f"import numpy, tlf.dialects.graph{LISTING}")
    assert {"numpy", "xdsl", "tlf"} <= packages(modules)
