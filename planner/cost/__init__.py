"""Cost models of the planner, for NPUs and GPUs."""
