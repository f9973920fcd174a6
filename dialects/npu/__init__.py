"""
The `npu` dialect: instructions of a small neural processor on physical addresses.

A control processor executes the program and queues instructions on engines: one DMA
queue per direction between levels, a matrix engine and a vector engine. Engines run
concurrently, each in order; only semaphores order different engines. The matrix and
vector engines read and write L1.

```mlir
npu.program @double semaphores 4 {
  npu.input "x" in "L3" at 0 : tensor<64xf32>
  npu.output "y" in "L3" at 256 : tensor<64xf32>
  npu.dma L2[0](4):f32 from L3[0](4):f32 shape [64]
  npu.signal "dma_l3_l2" 0
  npu.wait "dma_l2_l1" 0
  npu.dma L1[0](4):f32 from L2[0](4):f32 shape [64]
  npu.signal "dma_l2_l1" 1
  npu.wait "vector" 1
  npu.vector "add" L1[0](4):f32 from L1[0](4):f32, L1[0](4):f32 shape [64]
  npu.signal "vector" 2
  npu.wait "dma_l1_l2" 2
  npu.dma L2[0](4):f32 from L1[0](4):f32 shape [64]
  npu.signal "dma_l1_l2" 3
  npu.wait "dma_l2_l3" 3
  npu.dma L3[256](4):f32 from L2[0](4):f32 shape [64]
  npu.halt
}
```
"""

from xdsl.ir import Dialect

from tlf.dialects.npu.accumulating_instruction import AccumulatingOp
from tlf.dialects.npu.address_attribute import Access, AccessAttr
from tlf.dialects.npu.cores import CoresOp
from tlf.dialects.npu.dma import DmaOp, IndexedRows, dma_engine_name
from tlf.dialects.npu.engine_operation import EngineOp
from tlf.dialects.npu.matrix import MAX_MATMUL_DIMENSIONS, MatmulOp
from tlf.dialects.npu.program_ops import (
    ConstantOp,
    HaltOp,
    HostArrayOp,
    InputOp,
    OutputOp,
    ProgramOp,
    SemaphoreOp,
    SignalOp,
    WaitOp,
    arrays_in_memory_map,
)
from tlf.dialects.npu.vector import (
    MAX_VECTOR_RANK,
    REDUCTIONS,
    VECTOR_ARITY,
    ReduceOp,
    VectorOp,
)

Npu = Dialect(
    "npu",
    [
        ConstantOp,
        CoresOp,
        DmaOp,
        HaltOp,
        InputOp,
        MatmulOp,
        OutputOp,
        ProgramOp,
        ReduceOp,
        SignalOp,
        VectorOp,
        WaitOp,
    ],
    [
        AccessAttr,
    ],
)

__all__ = [
    "MAX_MATMUL_DIMENSIONS",
    "MAX_VECTOR_RANK",
    "REDUCTIONS",
    "VECTOR_ARITY",
    "Access",
    "AccessAttr",
    "AccumulatingOp",
    "ConstantOp",
    "CoresOp",
    "DmaOp",
    "EngineOp",
    "HaltOp",
    "HostArrayOp",
    "IndexedRows",
    "InputOp",
    "MatmulOp",
    "Npu",
    "OutputOp",
    "ProgramOp",
    "ReduceOp",
    "SemaphoreOp",
    "SignalOp",
    "VectorOp",
    "WaitOp",
    "arrays_in_memory_map",
    "dma_engine_name",
]
