"""Weighted graph Laplacian systems (C'DC + mu I) x = b, for rankings without features."""

import numpy as np
from scipy import linalg

from urlr import kernels
from urlr.arrays import Codes, Floats
from urlr.errors import ConvergenceError
from urlr.messages import message

_DENSE_ITEMS = 500  # below this a dense factorisation is faster than any iteration


def solve_laplacian(
    winner: Codes,
    loser: Codes,
    weight: Floats,
    right: Floats,
    *,
    ridge: float,
    tolerance: float = 1e-10,
) -> Floats:
    """Solve (C'DC + mu I) x = b without ever forming a dense matrix on many items.

    Few items: Cholesky. Many: conjugate gradients with a Jacobi preconditioner, because a
    factorised Laplacian fills in.

    Raises
    ------
    ConvergenceError
        When the relative residual does not reach the tolerance.
    """
    n = right.size
    degree = np.bincount(winner, weight, n) + np.bincount(loser, weight, n)
    diagonal: Floats = np.asarray(degree + ridge, np.float64)
    if n <= _DENSE_ITEMS:
        matrix = np.diag(diagonal)
        np.add.at(matrix, (winner, loser), -weight)
        np.add.at(matrix, (loser, winner), -weight)
        return np.asarray(linalg.cho_solve(linalg.cho_factor(matrix, lower=True), right))

    x = np.zeros(n)
    rest = right.copy()
    goal = tolerance * float(np.linalg.norm(right))
    scaled = rest / diagonal
    direction = scaled
    energy = float(rest @ scaled)
    limit = 20 * n + 1000
    for _ in range(limit):
        size = float(np.linalg.norm(rest))
        if size <= goal:
            return x
        product = kernels.laplacian_product(winner, loser, weight, direction, diagonal)
        step = energy / float(direction @ product)
        x += step * direction
        rest -= step * product
        scaled = rest / diagonal
        energy, previous = float(rest @ scaled), energy
        direction = scaled + (energy / previous) * direction
    raise ConvergenceError(
        message("ranking_unsettled", n_items=n, residual=size, goal=goal, iterations=limit)
    )
