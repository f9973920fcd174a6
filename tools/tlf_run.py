"""
`tlf-run`: compile a program, run it, and report cost and errors.

Errors are one line on stderr. The exit status is 1 for errors and for wrong results.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlf.tools.define_tool import define_tool
from tlf.tools.run_options import parse_arguments


@define_tool("tlf-run")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf-run` command."""
    options = parse_arguments(arguments, tool)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from tlf.compiler.api.runtime_checks import CheckedValueError
    from tlf.compiler.driver.diagnostics import CompileError
    from tlf.tools.run_command import RunError, run

    try:
        is_correct = run(options)
    except (CheckedValueError, CompileError) as error:
        print(error.diagnostic, file=sys.stderr)
        sys.exit(1)
    except RunError as error:
        options.exit_with_error(str(error))
    if not is_correct:
        sys.exit(1)


if __name__ == "__main__":
    main()
