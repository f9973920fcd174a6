"""Cost model of fused groups on NPUs."""
