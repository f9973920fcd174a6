"""The compiler as a library."""
