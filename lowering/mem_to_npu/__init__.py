"""Lowering of `mem` to NPU programs: addresses, instructions, synchronisation."""
