"""Backends of targets: lowered programs and their executables."""
