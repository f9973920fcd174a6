"""A parser that caches types by their text."""

import re

from xdsl.context import Context
from xdsl.ir import TypeAttribute
from xdsl.parser import Parser

TYPE = re.compile(r'(?:tensor|memref|vector)<(?:[^<>"/-]|<[^<>"/-]*>)*>')
"""
A type with one level of brackets inside at most, and without what may hold brackets
that have no partner: strings, comments and arrows.
"""


class TypeCachingParser(Parser):
    """
    xDSL's parser, which spends most of its time on types. Equal texts are equal types
    within a file: an alias is defined before it is used, and never again.
    """

    def __init__(self, context: Context, text: str, name: str) -> None:
        self._types: dict[str, TypeAttribute] = {}
        super().__init__(context, text, name)

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        text, start = self._parser_state.lexer.input.content, self.pos
        if (match := TYPE.match(text, start)) is None:
            return super()._parse_optional_builtin_parametrized_type()
        if (known := self._types.get(match[0])) is not None:
            self._resume_from(match.end())
            return known
        type_ = super()._parse_optional_builtin_parametrized_type()
        if type_ is not None and not text[match.end() : self.pos].strip():
            self._types[match[0]] = type_
        return type_
