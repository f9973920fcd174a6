"""Rewrites of the pass `graph-hoist-scales`, across contractions and exponentials."""
