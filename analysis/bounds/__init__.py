"""Lower bounds on the time and the memory traffic of programs, over all schedules."""
