"""
`tlf-explain`: report the plan of a program, its cost and the reasons.

Errors are one line on stderr, and the exit status is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlf.runtime.broken_pipe import exit_on_broken_pipe
from tlf.tools.explain_options import exit_with_error, parse_arguments


@exit_on_broken_pipe()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the `tlf-explain` command."""
    options = parse_arguments(arguments)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from tlf.compiler.driver.diagnostics import CompileError
    from tlf.tools.explain_command import ExplainError, explain

    try:
        print(explain(options))
    except CompileError as error:
        print(error.diagnostic, file=sys.stderr)
        sys.exit(1)
    except ExplainError as error:
        exit_with_error(str(error))


if __name__ == "__main__":
    main()
