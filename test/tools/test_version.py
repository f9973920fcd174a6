"""Every tool says which version it is, as the package has it."""

from importlib import import_module
from importlib.metadata import version

import pytest

TOOLS = {
    "opt": "tools.opt_options",
    "run": "tools.run_options",
    "plan": "tools.plan_options",
    "bench": "tools.bench_options",
    "explain": "compiler.explain.explain_options",
    "import": "tools.import_options",
}
"""The module that reads the command line of each."""


@pytest.mark.parametrize("tool", TOOLS)
def test_version(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    parse = import_module(f"tlf.{TOOLS[tool]}").parse_arguments
    with pytest.raises(SystemExit) as stopped:
        parse(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"tlf-{tool} {version('tlf')}\n"
