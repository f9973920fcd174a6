"""Programs of every size, from text to results."""

import os

# More threads than one cost more than they gain, on small arrays and beside each other.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
