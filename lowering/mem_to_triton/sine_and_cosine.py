"""
Sources of the device functions for sines and cosines.

A sine is `sin(x - n * pi)`, negated for odd n, of the nearest integer n to `x / pi`; a
cosine likewise, of the nearest n + 1/2. `x - n * pi` is computed in steps with pi as a
sum of parts that are less than pi, so that a zero keeps its sign; each step is exact up
to the rounding of its result. The sine is a polynomial of minimal relative error on
-pi/2 to pi/2. There are no branches but the one below, so that a thread computes
several values in parallel.

- `..._f32`: three parts of pi, and a polynomial with an error of 7e-9. The error is
  below 2.5 ulp.
- `..._short`: two parts and a polynomial with an error of 1.2e-6, for 16 bits.
- `..._f16`: likewise; f16 has no numbers beyond `NEAR_LIMIT`.

Where an element of the tile is beyond `NEAR_LIMIT`, libdevice computes such elements.
The branch comes first: the polynomial and then the branch took 6 % longer on an H200.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

NEAR_LIMIT = 105615.0
"""Magnitude up to which `x - n * pi` has full precision."""

_PARTS_OF_PI = (3.141592502593994, 1.5099578831723193e-07, 1.0780605906948477e-14)

_ROUND = 12582912.0
"""Number 3 * 2^22, to which a sum rounds to an integer that its last bits hold."""

_LONG = (
    -0.16666659712791443,
    0.008333059959113598,
    -0.0001980908855330199,
    2.604582277854206e-06,
)
_SHORT = (-0.16665832698345184, 0.008313964121043682, -0.0001853184512583539)


def _body_lines(name: str, is_short: bool) -> Iterator[str]:
    """Yield the lines that compute `y` of `wide` within the limit."""
    if name == "sin":
        yield f"near = tl.fma(wide, 0.3183098861837907, {_ROUND})"
        yield f"turns = near - {_ROUND}"
        yield "sign = near.to(tl.int32, bitcast=True) << 31"
    else:
        yield f"near = tl.fma(wide, 0.3183098861837907, -0.5) + {_ROUND}"
        yield f"turns = (near - {_ROUND}) + 0.5"
        yield "sign = (near.to(tl.int32, bitcast=True) + 1) << 31"
    rest = "wide"
    for part in _PARTS_OF_PI[: 2 if is_short else 3]:
        yield f"rest = tl.fma(turns, {-part}, {rest})"
        rest = "rest"
    yield "rest = (rest.to(tl.int32, bitcast=True) ^ sign).to(tl.float32, bitcast=True)"
    yield "square = rest * rest"
    *coefficients, last = _SHORT if is_short else _LONG
    series = str(last)
    for coefficient in reversed(coefficients):
        yield f"series = tl.fma(square, {series}, {coefficient})"
        series = "series"
    yield "y = rest * tl.fma(square, series, 1.0)"


def _source_of(name: str, suffix: str) -> str:
    """Return the source of a function, with a branch for numbers beyond the limit."""
    near = list(_body_lines(name, suffix != "f32"))
    lines = ["wide = x.to(tl.float32)"]
    if suffix == "f16":
        lines += near
    else:
        lines += [f"if tl.max(tl.abs(wide)) > {NEAR_LIMIT}:", *_indent(near)]
        far = f"tl.where(tl.abs(wide) > {NEAR_LIMIT}, tl.{name}(wide), y)"
        lines += [f"    y = {far}", "else:", *_indent(near)]
    body = "\n".join(_indent([*lines, "return y.to(x.dtype)"]))
    return f"@triton.jit\ndef {name}_{suffix}(x):\n{body}\n"


def _indent(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


SINE_AND_COSINE: Mapping[str, str] = {
    f"{name}_{suffix}": _source_of(name, suffix)
    for name in ("sin", "cos")
    for suffix in ("f32", "short", "f16")
}
"""Sources of device functions by name."""
