"""Targets as backends: programs lowered for them, and made ready to run."""
