"""Weighted ridge regression on the edges of a graph: the closed form everything starts from."""

import numpy as np
from scipy import linalg

from urlr.arrays import Floats, Mask
from urlr.graph.comparisons import ComparisonGraph
from urlr.graph.laplacian import solve_laplacian


def inverse_of(gram: Floats, ridge: float) -> Floats:
    """(X'X + mu I)^-1, also when rounding has left X'X a little indefinite."""
    d = gram.shape[0]
    factor, failed = linalg.lapack.dpotrf(gram + ridge * np.eye(d), lower=True)
    if not failed:
        inverse, failed = linalg.lapack.dpotri(factor, lower=True)
    if failed:
        values, vectors = linalg.eigh(gram)
        return np.asarray((vectors / (np.maximum(values, 0.0) + ridge)) @ vectors.T)
    return np.ascontiguousarray(np.tril(inverse) + np.tril(inverse, -1).T)


def ridge_solve(gram: Floats, right: Floats, ridge: float) -> Floats:
    """(X'X + mu I)^-1 b, also when rounding has left X'X a little indefinite."""
    _, solution, failed = linalg.lapack.dposv(gram + ridge * np.eye(gram.shape[0]), right)
    return np.asarray(inverse_of(gram, ridge) @ right if failed else solution)


def ridge_coefficients(
    graph: ComparisonGraph, *, ridge: float, edges: Mask | None = None
) -> Floats:
    """beta = (X'FX + mu I)^-1 X' sqrt(W) F y over some edges of the graph, or all (Eq. beta_RP)."""
    edges = np.ones(graph.n_edges, np.bool_) if edges is None else edges
    weight = graph.weight * edges
    pull = graph.project(graph.pull(weight * graph.target))
    if graph.features is None:
        return solve_laplacian(graph.winner, graph.loser, weight, pull, ridge=ridge)
    del weight
    return ridge_solve(graph.gram(edges), pull, ridge)


def gradient_scale(graph: ComparisonGraph, gram: Floats | None) -> Floats:
    """A bound on sum_e w_e |x_ek|, per coefficient, from the diagonal of X'X."""
    if gram is None:
        n = graph.n_items
        diagonal = np.bincount(graph.winner, graph.weight, n) + np.bincount(
            graph.loser, graph.weight, n
        )
    else:
        diagonal = np.diag(gram)
    total = float(graph.weight.sum())
    floor = 1e-12 * float(np.max(diagonal, initial=0.0)) or 1.0
    return np.asarray(np.sqrt(total * np.maximum(diagonal, floor)))
