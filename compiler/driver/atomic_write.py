"""Driver: atomic writing of output files, as the runtime does it."""

from tlf.runtime.atomic_write import write_atomically

__all__ = ["write_atomically"]
