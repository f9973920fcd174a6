"""
`tlf-import`: write a PyTorch module as a program, and its weights to a side file.

Errors are one line on stderr, and the exit status is 1; files are written atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tlf.compiler.driver.atomic_write import write_atomically
from tlf.tools.define_tool import define_tool
from tlf.tools.import_options import ImportOptions, parse_arguments

if TYPE_CHECKING:
    from tlf.frontend.torch import ImportedProgram


@define_tool("tlf-import")
def main(arguments: Sequence[str] | None, tool: str) -> None:
    """Run the `tlf-import` command."""
    options = parse_arguments(arguments, tool)
    if find_spec("torch") is None:
        options.exit_with_error(
            "PyTorch is needed; install the extra 'torch': pip install -e '.[torch]'"
        )

    from tlf.support.progress import report_step

    with report_step("load PyTorch"):
        from tlf.frontend.torch import ImportFailure
        from tlf.tools.import_source import import_source

    try:
        with report_step(f"import {options.source}"):
            imported = import_source(options.source)
        with report_step("write"):
            _write_files(options, imported)
    except ImportFailure as error:
        options.exit_with_error(str(error))
    except OSError as error:
        options.exit_with_error(f"{error.filename}: {error.strerror}")


def _write_files(options: ImportOptions, imported: ImportedProgram) -> None:
    """Write the program, and the weights that it uses as safetensors."""
    from safetensors.numpy import save

    from tlf.frontend.torch import ImportFailure
    from tlf.support.tensor_arrays import to_array
    from tlf.tools.import_weights import replace_weights_by_constants

    if not options.output.name:
        raise ImportFailure(f"expected a file to write to, got `{options.output}`")
    weights = options.weights or options.output.with_suffix(".safetensors")
    if weights == options.output:
        raise ImportFailure(f"expected two files, got `{weights}` for both")
    if not options.arguments:
        replace_weights_by_constants(imported, str(weights))
    text = _print_module(imported, options.locations)
    used = {source for source in imported.arguments if isinstance(source, str)}
    arrays = {name: to_array(imported.weights[name]) for name in sorted(used)}

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")
        if arrays:
            write_atomically(weights, lambda side: side.write_bytes(save(arrays)))

    write_atomically(options.output, write)  # which renames it after its weights


def _print_module(imported: ImportedProgram, locations: bool) -> str:
    """Return the imported module as MLIR text, with source locations on request."""
    from xdsl.targets.mlir import MLIRTarget

    from tlf.compiler.driver.driver import emit_text, new_context

    return emit_text(
        new_context(), imported.module, MLIRTarget(), print_debuginfo=locations
    )


if __name__ == "__main__":
    main()
