"""Lowering of `mem` to Triton: kernel outlining and checks, sources, launch plan."""
