"""Noisy pairwise votes in, bad votes out, a ranking function people can trust.

Unified Robust Learning to Rank: Fu, Hospedales, Xiang, Xiong, Gong, Wang and Yao, "Robust
Subjective Visual Property Prediction from Crowdsourced Pairwise Labels", TPAMI.

=================  ===========================  ===========================================
paper's letter     name here                    equation
=================  ===========================  ===========================================
G = (V, E)         ComparisonGraph              problem definition
y, w               target, weight               regression_basic_outlier, HLasso_general
C                  ComparisonGraph.margins      incidence matrix, never formed
Phi                features                     one row per item
X = sqrt(W) C Phi  never formed; gram() is X'X  lagrange
beta               coefficients                 beta_org-1, beta_RP
gamma              entry, pruned                gamma, compute_outlier
lambda             penalty                      lagrange
mu                 ridge                        beta_org-1
f, F               pruned, keep()               beta_RP
Gamma              outlier_dimension            dimension of the space of outliers
theta              scores                       HLasso-1
p %                rate                         Algorithm 1
=================  ===========================  ===========================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from urlr import baselines, metrics, simulate
    from urlr.errors import (
        ArgumentError,
        ConvergenceError,
        FeatureError,
        ModelFileError,
        UrlrError,
        VoteError,
    )
    from urlr.fitting import fit
    from urlr.graph.comparisons import ComparisonGraph, comparison_graph
    from urlr.model_file import load
    from urlr.paper.path import OutlierPath, outlier_path
    from urlr.preflight_checks import Preflight, preflight
    from urlr.ranker import Ranker
    from urlr.settings import FitSettings
    from urlr.space.table import feature_table
    from urlr.votes.table import VoteTable, vote_table

__all__ = [
    "ArgumentError",
    "ComparisonGraph",
    "ConvergenceError",
    "FeatureError",
    "FitSettings",
    "ModelFileError",
    "OutlierPath",
    "Preflight",
    "Ranker",
    "UrlrError",
    "VoteError",
    "VoteTable",
    "baselines",
    "comparison_graph",
    "feature_table",
    "fit",
    "load",
    "metrics",
    "outlier_path",
    "preflight",
    "simulate",
    "vote_table",
]

_MODULES = {
    "baselines": "",
    "metrics": "",
    "simulate": "",
    **dict.fromkeys(
        (
            "ArgumentError",
            "ConvergenceError",
            "FeatureError",
            "ModelFileError",
            "UrlrError",
            "VoteError",
        ),
        "errors",
    ),
    "feature_table": "space.table",
    "fit": "fitting",
    **dict.fromkeys(("ComparisonGraph", "comparison_graph"), "graph.comparisons"),
    "load": "model_file",
    **dict.fromkeys(("OutlierPath", "outlier_path"), "paper.path"),
    **dict.fromkeys(("Preflight", "preflight"), "preflight_checks"),
    "Ranker": "ranker",
    "FitSettings": "settings",
    **dict.fromkeys(("VoteTable", "vote_table"), "votes.table"),
}
"""Where each name is from. Loaded when it is asked for: all of it takes 1.6 s of a processor, and a
process that only serves a model, or hands out work, needs little of it."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'urlr' has no attribute {name!r}")
    module = _MODULES[name]
    found = importlib.import_module(f"urlr.{module or name}")
    value = getattr(found, name) if module else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
