"""Driver: parser of modules that caches types by their text."""

import re

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import TypeAttribute
from xdsl.parser import Parser

SIMPLE_TYPE = r'(?:tensor|memref|vector)<(?:[^<>"/-]|<[^<>"/-]*>)*>'
"""
Pattern of a type with at most one nested level of brackets, and without anything that
may contain unmatched brackets: strings, comments and arrows.
"""

TYPE = re.compile(SIMPLE_TYPE)

TYPE_LIST = rf"\({SIMPLE_TYPE}(?:, {SIMPLE_TYPE})*\)"

FUNCTION_TYPE = re.compile(rf"{TYPE_LIST} -> (?:{SIMPLE_TYPE}|{TYPE_LIST})")
"""Function type of simple types, spaced as in printed programs."""


class TypeCachingParser(Parser):
    """
    xDSL's parser with a cache of types, which dominate its time. Within a file equal
    texts are equal types: an alias is defined once, before its first use.
    """

    def __init__(self, context: Context, text: str, name: str) -> None:
        self._types: dict[str, TypeAttribute] = {}
        self._function_types: dict[str, FunctionType] = {}
        super().__init__(context, text, name)

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        """Parse a built-in type, or skip its text if the type is in the cache."""
        text, start = self._parser_state.lexer.input.content, self.pos
        if (match := TYPE.match(text, start)) is None:
            return super()._parse_optional_builtin_parametrized_type()
        if (cached := self._types.get(match[0])) is not None:
            self._resume_from(match.end())
            return cached
        type_ = super()._parse_optional_builtin_parametrized_type()
        if type_ is not None and not text[match.end() : self.pos].strip():
            self._types[match[0]] = type_
        return type_

    def parse_optional_function_type(self) -> FunctionType | None:
        """Parse a function type, or skip its text if the type is in the cache."""
        text, start = self._parser_state.lexer.input.content, self.pos
        if (match := FUNCTION_TYPE.match(text, start)) is None:
            return super().parse_optional_function_type()
        if (cached := self._function_types.get(match[0])) is not None:
            self._resume_from(match.end())
            return cached
        type_ = super().parse_optional_function_type()
        if type_ is not None and not text[match.end() : self.pos].strip():
            self._function_types[match[0]] = type_
        return type_
