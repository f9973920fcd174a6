"""Fusion rules and profitability: operations that may join a group."""
