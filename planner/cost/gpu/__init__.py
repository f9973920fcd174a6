"""Cost model of GPU kernels."""
