"""Driver: parser of `dense<...>` tensor literals with hexadecimal elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.parser import AttrParser

from tlf.compiler.driver.type_caching_parser import TypeCachingParser


@dataclass(frozen=True)
class _HexElement:
    """
    Hexadecimal element of a `dense<...>` literal, converted once its type is known.
    """

    element: Any

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        """Return the number: the bits of a float, or the value of an integer."""
        if not isinstance(type, AnyFloat):
            return self.element.to_type(parser, type)
        bits, size = self.element.value, type.compile_time_size
        if bits >= 1 << 8 * size:
            span = self.element.span
            text = f"expected the bits of {type}, got {span.text}"
            parser.raise_error(text, at_position=span)
        (number,) = type.iter_unpack(bits.to_bytes(size, "little"))
        return number


class DenseParser(TypeCachingParser):
    """
    xDSL's parser, which reads hexadecimal elements of `dense<...>` as integers. For
    float types they are the bits, as printed for infinities and NaN.
    """

    def _parse_tensor_literal_element(self) -> Any:
        element = super()._parse_tensor_literal_element()
        is_hexadecimal = element.span.text[:2] in ("0x", "0X")
        return _HexElement(element) if is_hexadecimal else element
