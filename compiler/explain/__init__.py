"""Explanations of compilations: reports on plans, costs and missed fusions."""
