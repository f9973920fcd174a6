"""Limits, thresholds and calibrated costs of the planner, as frozen dataclasses."""
