"""Every tool says which version it is, as the package has it."""

from importlib import import_module
from importlib.metadata import version

import pytest

TOOLS = ("opt", "run", "plan", "bench", "explain", "import")


@pytest.mark.parametrize("tool", TOOLS)
def test_version(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    parse = import_module(f"tlf.tools.{tool}_options").parse_arguments
    with pytest.raises(SystemExit) as stopped:
        parse(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"tlf-{tool} {version('tlf')}\n"
