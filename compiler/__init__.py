"""The compiler as a library, between the passes and the command-line tools."""
