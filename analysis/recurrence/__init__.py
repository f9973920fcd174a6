"""Analysis of cascaded reductions that run in one loop."""
