"""Everything that can be chosen about a fit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.paper.path import Solver
from urlr.paper.ranking import Ranking
from urlr.paper.rates import RateRule

Method = Literal["robust", "paper"]
Coordination = Literal["drop", "once", "keep"]
Parts = Literal["auto", "each", "refuse"]
OutlierSpace = Literal["pca", "kernel-pca", "features", "items"]
Prune = float | Literal["auto"] | RateRule

METHOD_VERSION = 3
"""Raised when the same votes, features and settings give other results than before."""

_OF_ROBUST = (
    "limit",
    "curved",
    "item_effects",
    "annotator_rates",
    "turn_reversed",
    "tastes",
    "coordination",
    "parts",
    "ties",
    "left_right",
    "replicates",
)
_OF_PAPER = ("ranking", "outlier_space", "components", "outlier_ridge", "solver")


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Everything that can be chosen about a fit; kept in the model."""

    method: Method = "robust"
    """The default, "robust", or the method of the "paper", to the letter."""
    prune: Prune = "auto"
    """Share to set aside: of the votes, or in the paper of the edges; or "auto": votes that are
    likely wrong (in the paper: the share that best predicts held-out votes, if clearly better
    than none). The paper also has the rules "bic", "aic" and "sigma"."""
    ridge: float | Literal["tuned"] = "tuned"
    """Ridge of the ranking function; "tuned" on items left out, 0.001 in the paper."""
    limit: float = 0.4
    """Robust: the most a vote may pull, the penalty of its outlier variable inside the link; 1
    for no outlier variables."""
    curved: bool = True
    """Robust: kernel features beside the straight ones, as much as items left out support."""
    item_effects: bool = True
    """Robust: a shrunken effect of its own for every compared item."""
    annotator_rates: bool = True
    """Robust: weigh votes by the estimated error rate of whoever cast them."""
    turn_reversed: bool = True
    """Robust: read the votes of people who are mostly wrong the other way round; else they count
    for nothing."""
    tastes: bool = True
    """Robust: allow for people who differ in taste, where held-out votes say that they do."""
    coordination: Coordination = "drop"
    """Robust: what becomes of people who act together: "drop" sets their votes aside, "once" counts
    them as one person, "keep" counts them in full."""
    parts: Parts = "auto"
    """Robust: what becomes of groups of items that nothing compares, without features: "each" ranks
    them on their own, "refuse" refuses; "auto" refuses where a group has few votes, which are
    likelier a mistake."""
    ties: bool = True
    """Robust: a tie is half a vote each way; else ties count for nothing."""
    left_right: bool = True
    """Robust: allow for a lean to the item shown on the left, where the votes say which."""
    replicates: int | None = None
    """Robust: how often votes are drawn anew for the intervals; by default 200 up to 200,000
    votes, 50 up to two million, 20 beyond; 0 for no intervals."""
    ranking: Ranking = "ridge"
    """Paper: ranking function, "ridge" (Eq. beta_RP) or "svm" (RankSVM)."""
    outlier_space: OutlierSpace = "pca"
    """Paper: where outliers are looked for: reduced features ("pca", "kernel-pca"), the
    "features" themselves, or the "items" alone (Huber-LASSO-FL)."""
    components: int | None = None
    """Paper: dimensions of the reduced space; by default a tenth of the edges, at most 150."""
    outlier_ridge: float | None = None
    """Paper: ridge of the outlier search; by default 0.001, and 1e-6 without features."""
    chi_square: int = 0
    """Steps of the additive chi-square map, for histogram features; 0 for none."""
    solver: Solver = "auto"
    """Paper: path solver, "exact", "grid", or "auto" by size."""
    seed: int = 0
    """Seed of folds, landmarks and replicates."""

    def __post_init__(self) -> None:
        for field in fields(self):  # numpy's numbers are not JSON's
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())

    def check(self) -> None:
        """Raise ArgumentError naming the setting that makes no sense."""
        self._check_kinds()
        _one_of("method", self.method, get_args(Method))
        self._check_belonging()
        if isinstance(self.prune, str):
            rules = ("auto",) if self.method == "robust" else ("auto", *get_args(RateRule))
            if self.method == "robust" and self.prune in get_args(RateRule):
                raise ArgumentError(message("rule_of_paper", value=self.prune))
            _one_of("prune", self.prune, rules)
        elif not 0 <= self.prune < 1:
            raise ArgumentError(message("not_a_share", name="prune", value=self.prune))
        if isinstance(self.ridge, str):
            _one_of("ridge", self.ridge, ("tuned",))
        for name in ("ridge", "outlier_ridge"):
            value = getattr(self, name)
            if value is None or (isinstance(value, str) and name == "ridge"):
                continue
            if isinstance(value, str) or not (np.isfinite(value) and value > 0):
                raise ArgumentError(message("not_positive", name=name, value=value))
        if not 0.05 <= self.limit <= 1:
            raise ArgumentError(message("limit_out_of_range", value=self.limit))
        _one_of("coordination", self.coordination, get_args(Coordination))
        _one_of("parts", self.parts, get_args(Parts))
        _one_of("ranking", self.ranking, get_args(Ranking))
        _one_of("outlier_space", self.outlier_space, get_args(OutlierSpace))
        _one_of("solver", self.solver, get_args(Solver))
        if self.components is not None and self.components < 1:
            raise ArgumentError(message("too_few_components", value=self.components))
        if self.replicates is not None and (self.replicates < 0 or self.replicates == 1):
            raise ArgumentError(message("too_few_replicates", value=self.replicates))
        if self.seed < 0:
            raise ArgumentError(message("negative_seed", value=self.seed))
        if self.chi_square not in (0, 1, 2, 3):
            raise ArgumentError(message("chi_square_out_of_range", value=self.chi_square))

    def _check_kinds(self) -> None:
        whole = ("components", "chi_square", "seed", "replicates")
        for name in ("prune", "ridge", "outlier_ridge", "limit", *whole):
            value = getattr(self, name)
            may_lack = name in ("components", "outlier_ridge", "replicates") and value is None
            kinds: tuple[type, ...] = (int,) if name in whole else (int, float, str)
            if name == "limit":
                kinds = (int, float)
            if not may_lack and (not isinstance(value, kinds) or isinstance(value, bool)):
                raise ArgumentError(
                    message("not_a_whole_number", name=name, value=value)
                    if name in whole
                    else message("not_a_number_or_rule", name=name, value=value)
                )
        for name in (
            "curved",
            "item_effects",
            "annotator_rates",
            "turn_reversed",
            "tastes",
            "ties",
            "left_right",
        ):
            if not isinstance(value := getattr(self, name), bool):
                raise ArgumentError(message("not_true_or_false", name=name, value=value))

    def _check_belonging(self) -> None:
        others = _OF_PAPER if self.method == "robust" else _OF_ROBUST
        other = "paper" if self.method == "robust" else "robust"
        usual: Any = FitSettings()
        for name in others:
            if (value := getattr(self, name)) != getattr(usual, name):
                raise ArgumentError(
                    message("setting_of_other_method", name=name, value=value, method=other)
                )


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ArgumentError(
            message("unknown_choice", name=name, value=value, allowed=", ".join(allowed))
        )
