"""Fusion: which operations may join a group, and which pay."""
