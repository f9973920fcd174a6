"""Command line of `tlf-opt`. Imports nothing of xDSL, so that help is quick."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.tools.command_line import CommandLine, ToolOptions

DESCRIPTION = "Run passes over a program and print it."
EPILOG = "`--list` names the passes, pipelines, formats and target descriptions."

FLAGS = {
    "split-input-file": "process the parts between lines `// -----` separately",
    "verify-diagnostics": "match errors with comments `// expected-error {{...}}`",
    "print-ir-after-all": "print the program after every pass to stderr",
    "print-ir-after-change": "print the program after every pass that changed it",
    "groups": "print the lower bound and the predicted cost of each group to stderr",
    "timing": "print the seconds of each pass to stderr",
    "print-op-generic": "print all operations in their generic form",
    "print-debuginfo": "print the locations of operations",
    "allow-unregistered-dialect": "read operations of unknown dialects",
    "no-implicit-module": "require a `builtin.module` at the top",
    "disable-verify": "do not verify the program, neither before nor after passes",
    "traceback": "print the Python traceback of errors",
    "list": "list the names for `-p`, `-t` and `--target`, and exit",
}


class OptOptions(ToolOptions):
    """The parsed command line."""

    input: str | None
    output: str | None
    passes: list[str]
    emit: str
    target: str | None
    l2: str | None
    print_ir_after: list[str]
    split_input_file: bool
    verify_diagnostics: bool
    print_ir_after_all: bool
    print_ir_after_change: bool
    groups: bool
    timing: bool
    print_op_generic: bool
    print_debuginfo: bool
    allow_unregistered_dialect: bool
    no_implicit_module: bool
    verify_each: str
    disable_verify: bool
    traceback: bool
    list: bool


def parse_arguments(
    arguments: Sequence[str] | None = None, tool: str = "tlf-opt"
) -> OptOptions:
    """Parse the command line of `tool`; exit with an error if it is invalid."""
    parser = CommandLine(tool, description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("input", nargs="?", help="input file, stdin by default")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="output file, stdout by default"
    )
    parser.add_argument(
        "-p",
        "--passes",
        metavar="PIPELINE",
        action="append",
        default=[],
        help="passes and named pipelines, as in `a,b{option=1 other=x,y},c`",
    )
    parser.add_argument(
        "-t",
        "--emit",
        metavar="FORMAT",
        default="mlir",
        help="output format: `mlir`, `triton`, `npu`, ... (default: mlir)",
    )
    _add_target_options(parser)
    parser.add_argument(
        "--print-ir-after",
        metavar="PASS",
        action="append",
        default=[],
        help="print the program after this pass to stderr",
    )
    _add_verification(parser)
    for name, text in FLAGS.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser.parse_args(arguments, namespace=OptOptions())


def _add_verification(parser: CommandLine) -> None:
    """Add the option for verification between passes."""
    parser.add_argument(
        "--verify-each",
        choices=("levels", "changed", "full"),
        default="changed",
        help="verify what changed after each conversion to another level or after "
        "each pass, or all of the program after each pass (default: changed)",
    )


def _add_target_options(parser: CommandLine) -> None:
    """Add the options of the target description."""
    parser.add_argument(
        "--target",
        metavar="NAME|FILE.toml",
        help="description of the target chip, attached to the module",
    )
    parser.add_argument(
        "--l2", metavar="SIZE", help="capacity of the target's L2, such as 512K"
    )
