"""
`tlf-opt`: read a program, run passes over it, and print it.

Errors are lines `file:line:col: error: message` on stderr, and the exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlf.tools.define_tool import define_tool
from tlf.tools.opt_options import parse_arguments


@define_tool("tlf-opt")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf-opt` command."""
    options = parse_arguments(arguments, tool)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from tlf.tools.opt_command import UsageError, run

    try:
        succeeded = run(options)
    except UsageError as error:
        options.exit_with_error(str(error))
    if not succeeded:
        sys.exit(1)


if __name__ == "__main__":
    main()
