"""Passes on whole tensors: canonicalization, reshapes and algebraic rewrites."""
