"""Arrays whose axes lie in another order in memory than in their shape."""

import numpy as np
import pytest

from tlf.runtime import npu

PROGRAM = """
.npu 1
.level L3 capacity=4096 bandwidth=64 burst=16
.level L2 capacity=4096 bandwidth=64
.engine load from=L3 to=L2
.engine store from=L2 to=L3
.input x L3 0 f32 2x3x4 order={order}
.output y L3 1024 f32 24
.output z L3 2048 f32 2x3x4 order={order}
.semaphores 1
.code
dma load dst=L2[0](4) src=L3[0](4) shape=(24) type=f32
signal load s0
wait store s0
dma store dst=L3[1024](4) src=L2[0](4) shape=(24) type=f32
dma store dst=L3[2048](4) src=L2[0](4) shape=(24) type=f32
halt
"""


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_axes_lie_in_the_order(order: tuple[int, ...]):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    text = PROGRAM.format(order=",".join(map(str, order)))
    outputs = npu.run(npu.parse(text), {"x": x}).outputs
    assert outputs["y"].tolist() == x.transpose(order).reshape(-1).tolist()
    assert outputs["z"].tolist() == x.tolist()


@pytest.mark.parametrize("order", ["0,1", "0,1,1", "0,1,3", "0,1,2,3", "a,b,c"])
def test_order_of_other_axes(order: str):
    reason = f"expected 3 axes for `order`, each once, got `{order}`"
    with pytest.raises(npu.NPUParseError, match=reason):
        npu.parse(PROGRAM.format(order=order))
