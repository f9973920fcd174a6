"""Rewrites that move scale factors across contractions and exponentials."""
