"""Parts of the way from `mem` to Triton: outlining, checks, printing of kernels."""
