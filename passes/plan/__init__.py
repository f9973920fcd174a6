"""Passes that write the decisions of the planner into the IR."""
