"""Software pipelining of loops over tiles."""
