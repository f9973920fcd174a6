"""The global choice: which groups run as one, and which tensors stay near."""
