"""Slices of stored tensors, and strided views under other shapes."""

from math import prod

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.slice_views import is_stored_slice, strides_of_reshaped_view


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(200))
def test_reshaped_strides_as_numpy_has_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = [int(n) for n in random.choice([1, 2, 3, 4, 6], random.integers(1, 5))]
    whole = np.arange(prod(n + 2 for n in shape)).reshape([n + 2 for n in shape])
    keep = random.integers(0, 2, len(shape))
    part = whole[tuple(slice(0, n + 2 * k) for n, k in zip(shape, keep, strict=True))]
    wanted = _other_shape(part.size, random)
    strides = [each // part.itemsize for each in part.strides]
    found = strides_of_reshaped_view(part.shape, strides, wanted)
    try:
        np.reshape(part, wanted, copy=False)
    except ValueError:
        assert found is None
        return
    assert found is not None
    seen = as_strided(whole, wanted, [each * part.itemsize for each in found])
    assert (seen == part.reshape(wanted)).all()


def _other_shape(size: int, random: np.random.Generator) -> tuple[int, ...]:
    """Random factors of a size, in random order, with some axes of extent 1."""
    factors: list[int] = []
    for prime in (2, 3, 5, 7):
        while size % prime == 0:
            factors.append(prime)
            size //= prime
    factors += [size] if size > 1 else []
    axes = [1] * int(random.integers(1, 5))
    for factor in factors:
        axes[int(random.integers(len(axes)))] *= factor
    return tuple(axes)


@pytest.mark.parametrize(
    ("made", "is_stored"),
    [
        ("graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>", True),
        ("graph.exp %x : tensor<3xf32>", False),
    ],
)
def test_what_is_cut_from_what_is_stored(made: str, is_stored: bool) -> None:
    text = f"""
        func.func @cut(%x: tensor<3xf32>) -> tensor<2xf32> {{
          %0 = {made}
          %1 = graph.slice %0 offsets [1] strides [1] : (tensor<3xf32>) -> tensor<2xf32>
          func.return %1 : tensor<2xf32>
        }}
    """
    module = parse_module(new_context(), Source(text, "cut.mlir"))
    (cut,) = (op for op in module.walk() if isinstance(op, graph.SliceOp))
    assert is_stored_slice(cut) is is_stored
