"""Runtimes of compiled programs: the NPU simulator and Triton."""
