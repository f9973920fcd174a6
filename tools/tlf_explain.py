"""
`tlf-explain`: say how a program is planned, what that costs, and why it is so.

Errors are one line on stderr, and the exit status is 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tlf.tools.explain_options import fail, parse_arguments


def main(arguments: Sequence[str] | None = None) -> None:
    """The `tlf-explain` command."""
    options = parse_arguments(arguments)

    # What needs xDSL is imported only now, so that `--help` answers at once.
    from tlf.tools.diagnostics import CompileError
    from tlf.tools.explain import ExplainError, explain

    try:
        print(explain(options), flush=True)
    except BrokenPipeError:
        # The reader of the output has gone. What is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except CompileError as error:
        print(error.diagnostic, file=sys.stderr)
        sys.exit(1)
    except ExplainError as error:
        fail(str(error))


if __name__ == "__main__":
    main()
