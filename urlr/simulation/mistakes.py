"""Honest mistakes of people who compare: the closer the pair, the likelier."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from urlr.arrays import Floats
from urlr.errors import ArgumentError
from urlr.messages import message


def unintentional_error(difference: Floats, *, at_zero: float = 0.5, reach: float) -> Floats:
    """Probability of an honest mistake, `at_zero * (1 - difference / reach)^2`, 0 beyond `reach`.

    The quadratic form is the one the paper fits to people's mistakes about ages.

    Parameters
    ----------
    difference
        True difference of the two items, at least 0, of any shape.
    at_zero
        Probability between equals.
    reach
        Difference from which nobody errs.
    """
    if not 0 <= at_zero <= 1:
        raise ArgumentError(message("not_between_0_and_1", name="at_zero", value=at_zero))
    if not reach > 0:
        raise ArgumentError(message("reach_out_of_range", value=reach))
    if np.any(difference < 0):
        raise ArgumentError(message("negative_difference", least=np.min(difference)))
    return at_zero * np.square(np.maximum(1.0 - difference / reach, 0.0))


def reach_for(differences: Floats, ratio: float, *, at_zero: float = 0.5) -> float:
    """The reach with which `unintentional_error` has mean `ratio` over these differences.

    Raises
    ------
    ArgumentError
        If no reach does: the mean lies between `at_zero` times the share of zero differences,
        and `at_zero`.
    """
    d = np.sort(np.asarray(differences, np.float64))
    if len(d) == 0 or not (d[0] >= 0 and d[-1] < np.inf):
        raise ArgumentError(message("unusable_differences", count=len(d)))
    n_zero = int(np.searchsorted(d, 0.0, side="right"))
    least = at_zero * n_zero / len(d)
    if not least < ratio < at_zero:
        raise ArgumentError(message("ratio_out_of_range", least=least, most=at_zero, value=ratio))
    # Sums up to any reach, so that a step of the bisection costs a look-up, not a pass.
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (d, d * d))

    def excess(reach: float) -> float:
        below = int(np.searchsorted(d, reach))
        total = below - 2 * sums[below] / reach + squares[below] / reach**2
        return float(at_zero * total / len(d)) - ratio

    # Even the largest difference errs with probability `ratio` at the upper end.
    widest = d[-1] / (1.0 - np.sqrt(ratio / at_zero))
    return float(optimize.bisect(excess, d[n_zero], widest * (1 + 1e-9), xtol=1e-12 * widest))
