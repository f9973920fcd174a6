"""Random instances of contractions with linear index maps."""

from graph_instances import coin, value
from numpy.random import Generator
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph


def linear_contract(rng: Generator) -> Operation:
    """
    Return a banded matmul: adjacent results of a window over rows, of several channels.
    """
    channels, blocks, count, taps, stride = (int(n) for n in rng.integers(1, 5, 5))
    reach, zeros = taps + (count - 1) * stride, (count - 1) * stride
    channel, block, neighbour, tap = map(AffineExpr.dimension, range(4))
    maps = [
        AffineMap(4, 0, results)
        for results in (
            (channel, block * (count * stride) + tap),
            (tap + neighbour * -stride + zeros, channel),
            (block * count + neighbour, channel),
        )
    ]
    images = value([channels, (blocks * count - 1) * stride + taps])
    filters = value([taps + 2 * zeros, channels])
    result = value([blocks * count, channels])
    return graph.LinearContractOp(
        [images, filters, result] if coin(rng) else [images, filters],
        [channels, blocks, count, reach],
        maps,
        result.type,
    )
