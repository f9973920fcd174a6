"""Rewrite of a group on tensors whose two neighbouring dimensions are collapsed."""
