"""Sums whose terms are sums themselves, as sums of their own."""
