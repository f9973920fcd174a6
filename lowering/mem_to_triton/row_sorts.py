"""
Emission of Triton code for sorts: the device functions that sort the rows of a tile.

- `sort_key`: integer of the order of a float: its bits, in reverse below 0, with equal
  zeros, and with NaN as the greatest.
- `argsort_rows`: a word of 64 bits has the key of an element and, below it, its index,
  so that the order of words is the stable order of elements. Keys at `count` and beyond
  are not less than all others.
"""

from tlf.dialects import mem
from tlf.dialects.types import is_float
from tlf.lowering.mem_to_triton.element_types import element_type_of, shape_of

ROW_SORTS = {
    "sort_key": """\
@triton.jit
def sort_key(x):
    wide = x.to(tl.float32)
    bits = tl.where(wide == 0, 0.0, wide).to(tl.int32, bitcast=True)
    key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    return tl.where(wide == wide, key, 0x7FFFFFFF)
""",
    "argsort_rows": """\
@triton.jit
def argsort_rows(key, count: tl.constexpr, first: tl.constexpr):
    extent: tl.constexpr = key.shape[len(key.shape) - 1]
    index = tl.zeros_like(key) + tl.arange(0, extent)
    key = tl.where(index < count, key, 0x7FFFFFFF)
    words = (key.to(tl.int64) << 32) | index.to(tl.int64)
    if first < extent:
        words = ~tl.topk(~words, first)
    else:
        words = tl.sort(words)
    return words.to(tl.int32)
""",
}
"""Sources of the device functions by name."""


def argsort_expression(op: mem.ArgsortOp, source: str) -> str:
    """Return the expression of the indices that sort the rows of a variable."""
    is_key = is_float(element_type_of(op.source))
    key = f"sort_key({source})" if is_key else f"{source}.to(tl.int32)"
    if op.is_descending:
        key = f"~{key}"
    return f"argsort_rows({key}, {op.sorted_count}, {shape_of(op.result)[-1]})"
