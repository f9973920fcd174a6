"""
Timing model of an NPU, shared by its simulator and the compiler's cost model. Plain
numbers: no program, no IR.
"""
