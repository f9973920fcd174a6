"""
`tlf-opt`: read a program, run passes over it, and print it.

Errors are lines `file:line:col: error: message` on stderr, and the exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tlf.runtime.broken_pipe import exit_on_broken_pipe
from tlf.tools.opt_options import exit_with_error, parse_arguments


@exit_on_broken_pipe()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the `tlf-opt` command."""
    options = parse_arguments(arguments)

    # Modules that need xDSL are imported only now, so that `--help` is quick.
    from tlf.tools.opt_command import UsageError, run

    try:
        succeeded = run(options)
    except UsageError as error:
        exit_with_error(str(error))
    if not succeeded:
        sys.exit(1)


if __name__ == "__main__":
    main()
