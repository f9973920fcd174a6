"""
`tlf-explain`: report the plan of a program, its cost and the reasons.

Errors are one line on stderr, and the exit status is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlf.tools.define_tool import define_tool
from tlf.tools.explain_options import parse_arguments


@define_tool("tlf-explain")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf-explain` command."""
    options = parse_arguments(arguments, tool)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from tlf.compiler.driver.diagnostics import CompileError
    from tlf.tools.explain_command import ExplainError, explain

    try:
        print(explain(options))
    except CompileError as error:
        print(error.diagnostic, file=sys.stderr)
        sys.exit(1)
    except ExplainError as error:
        options.exit_with_error(str(error))


if __name__ == "__main__":
    main()
