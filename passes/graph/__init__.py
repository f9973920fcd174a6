"""Passes on whole tensors: canonical forms, reshapes and algebra."""
