"""Bounds of writes at indices."""

import pytest
from bounded import bounds_in

from tlf.dialects.target import TargetSpec, load_target_spec


@pytest.mark.parametrize(
    ("kind", "chip", "is_moved"),
    [
        *[(kind, load_target_spec("npu"), True) for kind in ("set", "add")],
        *[(kind, load_target_spec("npu"), False) for kind in ("max", "mul")],
        *[(kind, load_target_spec("h200"), True) for kind in ("set", "add", "max")],
        ("mul", load_target_spec("h200"), False),
    ],
)
def test_moves_write_where_indices_say(kind: str, chip: TargetSpec, is_moved: bool):
    """With such moves, nothing is compared, and no position per index is counted."""
    bounds = bounds_in(
        f"""
func.func @f(%x: tensor<5000x64xf32>, %n: tensor<900x1xi64>, %u: tensor<900x64xf32>)
    -> tensor<5000x64xf32> {{
  %0 = graph.scatter %x, %n, %u axis 0 <{kind}> : (tensor<5000x64xf32>,
      tensor<900x1xi64>, tensor<900x64xf32>) -> tensor<5000x64xf32>
  func.return %0 : tensor<5000x64xf32>
}}
""",
        chip,
    )

    assert bounds.payload_bytes == (2 * 5000 + 900) * 64 * 4 + 900 * 8
    assert (bounds.binding == "memory") == is_moved
