"""Moving factors through sums of products."""
