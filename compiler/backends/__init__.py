"""Backends: lowering for a target, and executables of the lowered programs."""
