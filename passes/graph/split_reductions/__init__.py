"""Split-K: rewrites of a reduction into partial reductions and their combination."""
