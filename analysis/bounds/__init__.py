"""
Analysis of programs: lower bounds on their time and memory traffic, over all schedules.
"""
