"""
Attribute parser of the dialects: parameters that are one keyword of an enumeration.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.parser import AttrParser
from xdsl.utils.str_enum import StrEnum

WordT = TypeVar("WordT", bound=StrEnum)


def parse_keyword_param(parser: AttrParser, keywords: type[WordT]) -> WordT:
    """Parse `<keyword>`, and return the member of an enumeration that it names."""
    if parser.parse_optional_punctuation("<") is None:
        *alternatives, last = [f"`<{word}>`" for word in keywords]
        parser.raise_error(f"expected {', '.join(alternatives)} or {last}")
    keyword = parser.parse_str_enum(keywords)
    parser.parse_punctuation(">")
    return keyword
