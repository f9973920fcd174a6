"""Backends of the compiler's targets: lowered programs and their executables."""
