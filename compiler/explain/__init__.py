"""Explanation of plans: reports on plans, costs and missed fusions of a compilation."""
