"""Software pipelining of loops over tiles: multi-buffering and prefetch distances."""
