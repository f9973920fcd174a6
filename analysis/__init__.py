"""Facts about IR; an analysis rewrites nothing."""
