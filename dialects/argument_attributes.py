"""IR utility of the dialects: attributes of arguments and results of functions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute


def set_attribute_by_index(
    attributes: ArrayAttr[DictionaryAttr] | None,
    count: int,
    name: str,
    values: Mapping[int, Attribute | None],
) -> ArrayAttr[DictionaryAttr] | None:
    """
    Return the attributes of `count` arguments or results with the attribute `name` set
    to `values` by index; `None` erases it. The given ones may be fewer than `count`.
    """
    if not values:
        return attributes
    tables = [dict(each.data) for each in attributes or ()]
    tables += [{} for _ in range(count - len(tables))]
    for index, value in values.items():
        if value is None:
            tables[index].pop(name, None)
        else:
            tables[index][name] = value
    return ArrayAttr([DictionaryAttr(each) for each in tables])
