"""
Command `tlf-run`: layouts of arguments and results from the command line, set as
attributes of the function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.dialects.entry_point import argument_names, result_names
from tlf.dialects.io_layout_attributes import (
    ANY_LAYOUT,
    Layout,
    get_argument_layouts,
    get_result_layouts,
    set_argument_layouts,
    set_result_layouts,
)
from tlf.tools.run_inputs import InputError, collect_by_name


def declare_layouts(function: func.FuncOp, layout_options: Sequence[str]) -> None:
    """
    Set layouts of arguments and results as attributes of `function`, in place.

    `layout_options` has words `NAME=0,2,3,1` with the axes of an argument or a result,
    outermost first, `NAME=any`, and `any` for all without a declared layout. Raises
    `InputError`, and `CompileError` for an invalid layout that the function declares.
    """
    by_name = collect_by_name(
        (_parse_layout_option(word) for word in layout_options if word != ANY_LAYOUT),
        lambda name, _one, _two: f"expected one layout of {name}, got two",
    )
    inputs, outputs = argument_names(function), result_names(function)
    for name, layout in by_name.items():
        if name not in (*inputs, *outputs):
            known = ", ".join(dict.fromkeys((*inputs, *outputs))) or "none"
            raise InputError(f"expected a layout of one of {known}, got `{name}`")
        _check_layout(function, name, layout)
    with locate_errors(function, "the layouts"):
        before = get_argument_layouts(function), get_result_layouts(function)
    is_default_any = ANY_LAYOUT in layout_options
    arguments = _layouts_by_index(inputs, by_name, before[0], is_default_any)
    results = _layouts_by_index(outputs, by_name, before[1], is_default_any)
    set_argument_layouts(function, arguments)
    set_result_layouts(function, results)


def _layouts_by_index(
    names: Sequence[str],
    layouts_by_name: Mapping[str, Layout],
    declared_layouts: Sequence[object],
    is_default_any: bool,
) -> dict[int, Layout]:
    """Return the layouts that are declared for some names, by their index."""
    layouts: dict[int, Layout] = {}
    for index, (name, before) in enumerate(zip(names, declared_layouts, strict=False)):
        if name in layouts_by_name:
            layouts[index] = layouts_by_name[name]
        elif is_default_any and before is None:
            layouts[index] = ANY_LAYOUT
    return layouts


def _parse_layout_option(option: str) -> tuple[str, Layout]:
    """Return the name and the axes of `NAME=0,2,3,1`, or of `NAME=any`."""
    name, _, text = option.partition("=")
    axes = text.split(",")
    if name and text == ANY_LAYOUT:
        return name, ANY_LAYOUT
    if not name or not all(axis.isdecimal() for axis in axes):
        raise InputError(
            "expected a layout `any`, NAME=any, or axes as NAME=0,2,3,1, got "
            f"`{option}`"
        )
    return name, tuple(map(int, axes))


def _check_layout(function: func.FuncOp, name: str, layout: Layout) -> None:
    """Raise `InputError` if `layout` is no permutation of the axes of `name`."""
    types = function.function_type
    pairs = (
        *zip(argument_names(function), types.inputs, strict=False),
        *zip(result_names(function), types.outputs, strict=False),
    )
    for each, type_ in pairs:
        rank = type_.get_num_dims() if isinstance(type_, TensorType) else 0
        if (
            each == name
            and layout != ANY_LAYOUT
            and sorted(layout) != list(range(rank))
        ):
            text = ",".join(map(str, layout))
            raise InputError(
                f"expected the layout of {name} to order {rank} axes, each once, "
                f"got {text}"
            )
