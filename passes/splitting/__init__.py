"""Reductions as several, of parts of their axis, and one of what these come to."""
