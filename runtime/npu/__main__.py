"""
Simulator: command line that runs an NPU program from files.

    python -m tlf.runtime.npu program.npu --input x=x.npy --output y=y.npy
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from tlf.runtime.array_file import write_array_file
from tlf.runtime.atomic_write import write_atomically
from tlf.runtime.broken_pipe import exit_on_broken_pipe
from tlf.runtime.interruption import exit_on_interruption
from tlf.runtime.npu import NPUError, NPUInputError, Program, Report, parse, run
from tlf.runtime.npu.dtypes import DTYPES, Array

PROG = "python -m tlf.runtime.npu"


@exit_on_interruption(PROG)
@exit_on_broken_pipe()
def main(arguments: list[str] | None = None) -> int:
    """
    Run the program file of a command line, and print its report; return the exit
    status.
    """
    options = _build_parser().parse_args(arguments)
    path: Path = options.program
    try:
        program = parse(path.read_text(), path.parent)
        inputs = _load_input_arrays(program, options.input)
        report = run(
            program,
            inputs,
            functional=not options.timing,
            timeline=options.trace is not None,
            exactly_once=options.exactly_once,
        )
        _write_files(options, report)
    except OSError as error:
        print(
            f"error: cannot read `{error.filename}`: {error.strerror}", file=sys.stderr
        )
        return 1
    except (NPUError, UnicodeDecodeError) as error:
        print(f"{path}: error: {error}", file=sys.stderr)
        return 1
    print(report.table())
    return 0


def _write_files(options: argparse.Namespace, report: Report) -> None:
    """
    Write outputs, timeline and figures as requested. Raises `NPUInputError` for an
    unknown output, `OSError`.
    """
    for name, file in _parse_name_file_pairs(options.output):
        if name not in report.outputs:
            raise NPUInputError(f"the program has no output `{name}`")
        write_array_file(Path(file), report.outputs[name])
    if options.trace is not None:
        _write_text(options.trace, report.trace())
    if options.json is not None:
        _write_text(options.json, report.json())


def _write_text(file: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(file, lambda path: path.write_text(text))


def _build_parser() -> argparse.ArgumentParser:
    """Return the parser of the program file and of the options for its run."""
    parser = argparse.ArgumentParser(prog=PROG, description="Run an NPU program.")
    parser.add_argument("program", type=Path, help="text of the program")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument(
        "--output", action="append", default=[], metavar="NAME=FILE.npy"
    )
    parser.add_argument(
        "--timing", action="store_true", help="compute time and traffic only"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE.json", help="write the figures"
    )
    parser.add_argument(
        "--exactly-once",
        action="store_true",
        help="trap if a byte of an output is written twice or read",
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE.json", help="write a timeline for Perfetto"
    )
    return parser


def _parse_name_file_pairs(words: list[str]) -> list[tuple[str, str]]:
    """Split words `NAME=FILE.npy`. Raises `NPUInputError` if a part is empty."""
    pairs = [word.partition("=") for word in words]
    for name, _, file in pairs:
        if not name or not file:
            raise NPUInputError(f"expected NAME=FILE.npy, got `{name}`")
    return [(name, file) for name, _, file in pairs]


def _load_input_arrays(program: Program, words: list[str]) -> dict[str, Array]:
    """Load the `.npy` files in `words` by name; raw elements get the declared dtype."""
    inputs: dict[str, Array] = {}
    for name, file in _parse_name_file_pairs(words):
        try:
            array = np.load(file, allow_pickle=False)
        except ValueError:
            raise NPUInputError(f"expected an array in {file}") from None
        if name in program.inputs and array.dtype.kind == "V":
            dtype = DTYPES[program.inputs[name].dtype]
            if dtype.itemsize == array.dtype.itemsize:
                array = array.view(dtype)
        inputs[name] = array
    return inputs


if __name__ == "__main__":
    sys.exit(main())
