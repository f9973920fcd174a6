"""Decisions on grouping, layouts and tile sizes; the planner changes no IR."""
