"""
Timing of an NPU: the arithmetic that its simulator and the compiler's cost model share.
Numbers only: no program, no IR.
"""
