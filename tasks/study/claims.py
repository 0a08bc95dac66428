"""What the paper claims in words, and the rule by which each claim is judged.

Rules are fixed here, before anything is run. A comparison of two methods is paired over trials and
*clear* if it is further from nothing than two standard errors. No verdict is aimed at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from tasks.study import claims_on_known_truth as known
from tasks.study import claims_on_sparse_votes as sparse
from tasks.study.content import ClaimLine
from tasks.study.judging import NEAR, UNJUDGED, Finding


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, and how it is judged."""

    number: int
    text: str
    where: str
    rule: str
    needs: tuple[str, ...]
    """Experiments whose rows the rule looks at."""
    judge: Callable[[pd.DataFrame], Finding]


def judged(measured: pd.DataFrame, evidence: dict[str, str]) -> list[ClaimLine]:
    """Every claim, by its rule; those whose experiments were not run cannot be judged."""
    found = []
    for claim in CLAIMS:
        there = set(evidence) & set(measured["experiment"])
        missing = [name for name in claim.needs if name not in there]
        if missing:
            # Without any of its experiments a claim rests on nothing, and says so by no evidence.
            finding = Finding(UNJUDGED, f"not run: {', '.join(missing)}")
        else:
            mine = measured[measured["experiment"].isin(claim.needs)]
            try:
                finding = claim.judge(mine)
            except (KeyError, ValueError, IndexError) as error:  # of tables that lack rows
                finding = Finding(UNJUDGED, f"too little was measured: {error.args[0]}")
        rests = [f"{name}: {evidence[name]}" for name in claim.needs if name in evidence]
        kinds = {evidence[name] for name in claim.needs if name in evidence}
        found.append(
            ClaimLine(
                number=claim.number,
                claim=claim.text,
                where=claim.where,
                verdict=finding.verdict,
                measured=finding.measured,
                evidence=kinds.pop() if len(kinds) == 1 else "; ".join(rests),
                why=finding.why,
                rule=claim.rule,
            )
        )
    return found


_PARTS = "Holds if all of these do, partly if some do: "
CLAIMS: list[Claim] = [
    Claim(
        1, "URLR has the lowest Kendall tau distance at every annotation density", "image",
        "Holds if URLR's mean is the lowest of the paper's five methods at every density and its "
        "lead over the nearest, all densities together, is clear; partly if lowest at some.",
        ("image",), sparse.lowest_at_every_density,
    ),
    Claim(
        2, "Order: URLR, Huber-LASSO-FL, Maj-Vot-1; Maj-Vot-2 worst, more so when sparse", "image",
        _PARTS + "each step of the order is clear over all densities; Maj-Vot-2 is clearly behind "
        "URLR at the lowest density, and by more than at the highest.",
        ("image",), sparse.order_of_methods,
    ),
    Claim(
        3, "Raw is about as good as majority voting", "image, video",
        _PARTS + f"Maj-Vot-1 and Maj-Vot-2 within {NEAR} of Raw in distance, on images and videos.",
        ("image", "video"), sparse.raw_like_majority,
    ),
    Claim(
        4, "URLR improves with the pruning rate up to about 55 %, then worsens; Huber-LASSO-FL "
        "stops finding outliers earlier", "image",
        _PARTS + "URLR at its best rate clearly below no pruning; that rate between 40 and 65 %; "
        "clearly worse at the last rate; Huber-LASSO-FL's best rate lower.",
        ("image",), sparse.best_rate,
    ),
    Claim(
        5, "Gaps shrink when annotation is dense", "video",
        _PARTS + "a clear lead over Huber-LASSO-FL on images, smaller on all votes of videos; the "
        "same of the mean lead over all four rivals.",
        ("image", "video"), sparse.gaps_shrink,
    ),
    Claim(
        6, "Classification from attributes: URLR > Huber-LASSO-FL > Maj-Vot-1, more so with 150 "
        "random votes an attribute", "PubFig, Scene",
        _PARTS + "both steps clear, as is and with random votes, in both data sets; URLR's lead "
        "over Maj-Vot-1 clear with random votes and larger than without. Mean of multi-class and "
        "zero-shot accuracy.",
        ("pubfig", "scene"), known.classification,
    ),
    Claim(
        7, "With 25 % errors URLR beats Huber-LASSO-FL (outlier space 546 against 301 dimensions); "
        "with 10 % both are close to GT", "age",
        _PARTS + "URLR's tau clearly higher at a rate of 25 %; its outlier space half as large "
        "again; both within 0.03 of GT at 10 % errors and a rate of 10 %.",
        ("age",), known.features_beat_none,
    ),
    Claim(
        8, "Tau peaks where the rate equals the error ratio (25 %) and stays flat to 50 %", "age",
        _PARTS + "the best rate between 20 and 30 % and clearly above none; at 50 % at most "
        f"{NEAR} below the peak.",
        ("age",), known.peak_at_error_ratio,
    ),
    Claim(
        9, "Five votes a pair: Maj-Vot-1 beats Raw, URLR beats Maj-Vot-1 once 10 % is pruned",
        "age",
        _PARTS + "Maj-Vot-1 clearly above Raw; URLR, mean of the rates above 10 and up to 50 %, "
        "clearly above Maj-Vot-1.",
        ("age",), known.five_votes,
    ),
    Claim(
        10, "Still effective at 35 % errors (AUC and tau)", "age",
        _PARTS + "area under ROC at least 0.75; clearly above Huber-LASSO-FL's; tau clearly above "
        "Raw's.",
        ("age",), known.many_errors,
    ),
    Claim(
        11, "Votes wrong by the most years are pruned first", "age",
        "Holds if the rank correlation of place in the order and years is clearly below -0.3.",
        ("age",), known.order_by_years,
    ),
    Claim(
        12, "The regularisation path beats IPOD-hard and OMP in AUC, most at high error ratio",
        "supplement",
        _PARTS + "clearly above each at every error ratio (mean of six ONRs); its mean lead is "
        "largest in the upper half of the ratios. For outliers of random sign and reversed ones: "
        "the paper's text allows both.",
        ("supplement",), known.path_beats_others,
    ),
    Claim(
        13, "BIC finds outliers only when they are few and huge (the table)", "supplement",
        _PARTS + "TPR at least 0.9 at p 0.1 and ONR 7 to 9; at most 0.1 wherever p is 0.4 or "
        "more. For outliers of random sign and reversed ones.",
        ("supplement",), known.bic_few_and_huge,
    ),
    Claim(
        14, "Bradley-Terry alone is much worse", "supplement",
        _PARTS + "URLR clearly ahead of Bradley-Terry and by more than 0.02, in distance on images "
        "and in tau on ages.",
        ("image", "age"), sparse.bradley_terry_worse,
    ),
    Claim(
        15, "240 images, 10,722 comparisons: 1 minute", "running cost",
        "Holds if path and ranking function together take at most 60 s.",
        ("pubfig",), known.running_cost,
    ),
    Claim(
        16, "Figure 2: the majority misses E < A, URLR finds it, even with one vote per pair",
        "discussion",
        _PARTS + "E < A is the first edge to enter in every graph that can be resolved; every "
        "graph can be resolved.",
        ("figure2",), known.cycles,
    ),
    Claim(
        17, "AIC and BIC prune nothing on image and video interestingness", "supplement",
        _PARTS + "at most 0.5 % of the edges pruned on average, by each criterion on each data set "
        "with all votes.",
        ("image", "video"), sparse.criteria_prune_nothing,
    ),
    Claim(
        18, "Dropping the features most correlated with the truth changes little", "supplement",
        _PARTS + f"URLR's distance on images and tau on ages move by at most {NEAR} on average.",
        ("image", "age"), sparse.telling_features,
    ),
    Claim(
        19, "PubFig: Maj-Vot-1 better than Raw with more outliers; Scene: the reverse",
        "relative attributes",
        _PARTS + "clearly better in PubFig, clearly worse in Scene, with the random votes.",
        ("pubfig", "scene"), known.majority_by_data_set,
    ),
]  # fmt: skip
