"""API of the compiler: compiled programs and the PyTorch backend."""
