"""Lower `mem` to Triton: outline kernels, check them, print kernels and launch plan."""
