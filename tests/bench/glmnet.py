"""The same outlier path by glmnet in R, the way the paper did it: a lasso in |E| variables."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from urlr.arrays import Floats
from urlr.graph.comparisons import ComparisonGraph
from urlr.paper.path import OutlierPath

TO_INSTALL = "apt-get install r-base-core r-cran-glmnet"
_SCRIPT = Path(__file__).with_name("glmnet.R")


@dataclass(frozen=True, slots=True)
class GlmnetPath:
    """What glmnet found, penalties in our units."""

    seconds: float
    """Of the call of glmnet() alone; the time-out if it did not end."""
    finished: bool
    n_penalties: int = 0
    entry: Floats | None = None
    """(n_edges,) first penalty of its grid at which the edge is an outlier, 0 if none."""

    def compared_with(self, path: OutlierPath) -> str:
        """How far both went, and how many of our first 20 % are among its first 20 %.

        Its grid leaves ties: an edge that ties with its cut counts as agreeing.
        """
        if self.entry is None:
            return f"glmnet was stopped after {self.seconds:.0f} s."
        reached = self.entry[self.entry > 0]
        pruned = path.pruned(0.2)
        count = int(np.count_nonzero(pruned))
        cut = max(np.partition(self.entry, -count)[-count], reached.min())
        return (
            f"{self.n_penalties:,} penalties, {reached.size:,} edges entered, the last at "
            f"{reached.min():.3g} (ours {path.n_entered:,}, {path.penalty:.3g}); of our first 20 % "
            f"{(self.entry[pruned] >= cut).mean():.1%} are in its first 20 %, "
            f"{np.count_nonzero(self.entry == cut):,} edges tie at its cut."
        )


def available() -> bool:
    """Whether Rscript and glmnet are there."""
    if shutil.which("Rscript") is None:
        return False
    call = ["Rscript", "-e", "suppressMessages(library(glmnet))"]
    return subprocess.run(call, capture_output=True, check=False).returncode == 0


def write_problem(graph: ComparisonGraph, *, ridge: float, folder: Path) -> None:
    """Write the lasso in gamma that is left when beta is minimised out.

    1/2 |A sqrt(W) (y - gamma)|^2 + lambda sum_e w_e |gamma_e| with A'A = I - H and
    H = X (X'X + mu I)^-1 X'. Without ridge A is I - H itself; with it, its square root.
    """
    root = np.sqrt(graph.weight)
    X = root[:, None] * (graph.features[graph.winner] - graph.features[graph.loser])
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    A = (U * (np.sqrt(ridge / (s**2 + ridge)) - 1.0)) @ U.T
    A[np.diag_indices_from(A)] += 1.0
    (A @ (root * graph.target)).tofile(folder / "y.bin")
    A *= root
    A.T.tofile(folder / "x.bin")  # R keeps matrices by column
    graph.weight.tofile(folder / "w.bin")


def glmnet_path(
    graph: ComparisonGraph,
    folder: Path,
    *,
    penalties: Floats | None = None,
    most: int = 0,
    timeout: float = 900.0,
) -> GlmnetPath:
    """Run glmnet on a written problem, on its own grid of penalties unless some are given.

    `most` is its pmax: it stops when so many edges have been outliers.
    """
    # glmnet divides the loss by n and scales the penalty weights to sum to n.
    unit = graph.n_edges**2 / graph.weight.sum()
    np.asarray([] if penalties is None else penalties / unit).tofile(folder / "lambda.bin")
    call = ["Rscript", str(_SCRIPT), str(folder), str(most)]
    with subprocess.Popen(call, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # "loaded"
        try:
            process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            return GlmnetPath(timeout, finished=False)
    if process.returncode:
        raise RuntimeError(f"glmnet failed with code {process.returncode}; see its words above.")
    seconds, n_penalties, *_ = result = np.fromfile(folder / "result.bin")
    return GlmnetPath(float(seconds), True, int(n_penalties), result[2:] * unit)
