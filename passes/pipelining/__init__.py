"""Software pipelining: loops that count, and buffers with slots."""
