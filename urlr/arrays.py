"""Names for the array types used throughout."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

Progress = Callable[[str, float], None]
"""Called as progress(what, share done from 0 to 1) by anything that may take seconds."""


def no_progress(what: str, share: float) -> None:
    """Ignore progress."""
