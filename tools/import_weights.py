"""
Command `tlf-import`: replacement of the weight arguments of an imported program by
constants in a side file.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType

from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.graph import ConstantOp, SideFileAttr
from tlf.frontend.torch import ImportedProgram


def _has_attributes(attributes: DictionaryAttr) -> bool:
    return bool(attributes.data)


def replace_weights_by_constants(imported: ImportedProgram, path: str) -> None:
    """
    Replace weight arguments of the entry function in place by constants that refer to
    the side file `path`, which is not written.
    """
    function = find_entry_point(imported.module)
    block = function.body.block
    first = block.first_op
    assert first is not None
    if (attributes := function.arg_attrs) is not None:
        pairs = zip(attributes, imported.arguments, strict=True)
        inputs = [each for each, source in pairs if not isinstance(source, str)]
        function.arg_attrs = (
            ArrayAttr(inputs) if any(map(_has_attributes, inputs)) else None
        )
    for argument, source in zip(tuple(block.args), imported.arguments, strict=True):
        if not isinstance(source, str):
            continue
        constant = ConstantOp(SideFileAttr(path, source), argument.type)
        constant.result.name_hint = argument.name_hint
        constant.location = argument.location
        block.insert_op_before(constant, first)
        argument.replace_all_uses_with(constant.result)
        block.erase_arg(argument)
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args],
        function.function_type.outputs.data,
    )
