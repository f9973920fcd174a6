"""Passes that write the planner's decisions into the IR: groups, plans and layouts."""
