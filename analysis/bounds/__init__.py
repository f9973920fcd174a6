"""Lower bounds on the time and the traffic of programs."""
