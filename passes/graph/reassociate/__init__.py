"""Linear combinations reassociated."""
