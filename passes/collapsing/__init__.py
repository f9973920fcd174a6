"""Neighbouring axes as one."""
