"""Runtime: writing of arrays to `.npy` files, without IR."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlf.runtime.atomic_write import write_atomically


def write_array_file(file: Path, array: NDArray[Any]) -> None:
    """Write an array atomically; `.npy` is appended to a name without it."""

    def write(path: Path) -> None:
        with path.open("wb") as output:
            np.save(output, array)

    is_named = file.suffix == ".npy"
    write_atomically(file if is_named else file.with_name(f"{file.name}.npy"), write)
