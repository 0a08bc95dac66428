"""Claims on image and video interestingness, and those of the supplement that rest on them."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from tasks.study import age, image, video
from tasks.study.judging import (
    FAILS,
    HOLDS,
    NEAR,
    PARTLY,
    Finding,
    ahead,
    between,
    densities,
    lower,
    place_of,
    verdict_of,
)
from tasks.study.learner import BRADLEY_TERRY, FEATURELESS, MAJORITY_SHARE, MAJORITY_SVM, RAW, URLR
from tasks.study.records import Paired, chosen, curves, mean_of, paired


def lowest_at_every_density(rows: pd.DataFrame) -> Finding:
    """URLR's mean against all others, density by density."""
    density = densities(rows)
    table = curves(density, method=image.PAPER).pivot(index="at", columns="series", values="mean")
    lowest = table.idxmin(axis=1)
    rivals = [name for name in image.PAPER if name != URLR]
    gains = {name: lower(density, URLR, name) for name in rivals}
    nearest = min(gains, key=lambda name: gains[name].mean)
    won = int((lowest == URLR).sum())
    measured = (
        f"lowest at {won} of {len(table)} densities; over all of them lower than "
        + ", ".join(f"{name} by {gain}" for name, gain in gains.items())
    )
    why = ""
    if won < len(table) or not ahead(gains[nearest]):
        others = lowest[lowest != URLR]
        auc = mean_of(rows, measure="auc", method=URLR)
        why = (
            f"Best elsewhere: {', '.join(f'{name} at {at:g}' for at, name in others.items())}. "
            if len(others)
            else ""
        ) + (
            f"URLR's order finds wrong votes with area under ROC {auc.mean:.2f}, but least squares "
            f"with a tuned penalty averages most errors away already: {nearest} is "
            f"{'only ' if gains[nearest].mean > 0 else ''}{abs(gains[nearest].mean):.4f} "
            f"{'behind' if gains[nearest].mean > 0 else 'ahead'}."
        )
    verdict = HOLDS if won == len(table) and ahead(gains[nearest]) else PARTLY if won else FAILS
    return Finding(verdict, measured, why)


def order_of_methods(rows: pd.DataFrame) -> Finding:
    """Each step from URLR to Maj-Vot-2."""
    density = densities(rows)
    ladder = [URLR, FEATURELESS, MAJORITY_SVM, MAJORITY_SHARE]
    steps = {
        f"{better} before {worse}": lower(density, better, worse)
        for better, worse in pairwise(ladder)
    }
    sparse, dense = density["at"].min(), density["at"].max()
    at = [lower(density, URLR, MAJORITY_SHARE, at=float(place)) for place in (sparse, dense)]
    parts = [*map(ahead, steps.values()), at[0].mean > at[1].mean and ahead(at[0])]
    measured = "; ".join(f"{name}: {gain}" for name, gain in steps.items())
    measured += f"; Maj-Vot-2 behind URLR by {at[0]} when sparsest, {at[1]} when densest"
    turned = [name for name, gain in steps.items() if gain.clear and gain.mean < 0]
    unclear = [name for name, gain in steps.items() if not gain.clear]
    why = ""
    if not all(parts):
        why = (
            (f"The other way round: {', '.join(turned)}. " if turned else "")
            + (f"Not clear: {', '.join(unclear)}. " if unclear else "")
            + "Every method is tuned on items left out here; Maj-Vot-2's share of wins is a noisy "
            "target, but one for every item, which helps it where votes are few."
        )
    return Finding(verdict_of(parts), measured, why)


def raw_like_majority(rows: pd.DataFrame) -> Finding:
    """How far both majority votings are from Raw."""
    density = chosen(rows, measure="distance")
    density = density[
        density["setting"].str.startswith("density") | (density["experiment"] == "video")
    ]
    gaps = {
        f"{name}, {which}": paired(density, name, RAW, experiment=which)
        for which in ("image", "video")
        for name in (MAJORITY_SVM, MAJORITY_SHARE)
    }
    parts = [abs(gap.mean) <= NEAR for gap in gaps.values()]
    measured = "distance less Raw's: " + "; ".join(f"{name} {gap}" for name, gap in gaps.items())
    far = [name for name, gap in gaps.items() if abs(gap.mean) > NEAR]
    return Finding(
        verdict_of(parts), measured, f"Further apart than {NEAR}: {', '.join(far)}." if far else ""
    )


def best_rate(rows: pd.DataFrame) -> Finding:
    """Where along the pruning rates each path does best."""
    along = chosen(rows, setting=image.RATES_SETTING, measure="distance")
    best: dict[str, float] = {}
    gain: dict[str, Paired] = {}
    for name in (URLR, FEATURELESS):
        table = curves(along, method=name).set_index("at")["mean"]
        best[name] = place_of(table.idxmin())
        gain[name] = between(along, name, 0.0, best[name])
    last = float(along["at"].max())
    fall = between(along, URLR, last, best[URLR])
    parts = [
        ahead(gain[URLR]),
        0.4 <= best[URLR] <= 0.65,
        ahead(fall),
        best[FEATURELESS] < best[URLR],
    ]
    measured = (
        f"URLR best at {best[URLR]:.0%}, {gain[URLR]} below no pruning, and {fall} better than at "
        f"{last:.0%}; Huber-LASSO-FL best at {best[FEATURELESS]:.0%} ({gain[FEATURELESS]})"
    )
    why = ""
    if not all(parts):
        wrong = curves(
            chosen(rows, setting=image.RATES_SETTING, measure="wrong among pruned", method=URLR)
        ).set_index("at")["mean"]
        why = (
            f"Of the votes URLR prunes at {wrong.index[0]:.0%}, {wrong.iloc[0]:.0%} are wrong; at "
            f"55 % only {wrong.get(0.55, float('nan')):.0%}: beyond the true share of errors most "
            "of what goes is right, and the curve is nearly flat."
        )
    return Finding(verdict_of(parts), measured, why)


def gaps_shrink(rows: pd.DataFrame) -> Finding:
    """URLR's leads on images and on videos."""
    density = densities(rows[rows["experiment"] == "image"])
    moving = chosen(rows, experiment="video", measure="distance")
    on_images = lower(density, URLR, FEATURELESS)
    on_videos = lower(moving, URLR, FEATURELESS, at=1.0)
    same = mean_of(rows, experiment="video", measure="same verdicts")
    rivals = [name for name in image.PAPER if name != URLR]
    wide = sum(lower(density, URLR, name).mean for name in rivals) / len(rivals)
    narrow = sum(lower(moving, URLR, name, at=1.0).mean for name in rivals) / len(rivals)
    parts = [ahead(on_images) and abs(on_videos.mean) < on_images.mean, 0 < wide > abs(narrow)]
    measured = (
        f"URLR ahead of Huber-LASSO-FL by {on_images} on images, {on_videos} on all votes of "
        f"videos; ahead of the four rivals on average by {wide:+.4f} and {narrow:+.4f}"
    )
    why = (
        f"With {video.TRAINED} training videos the features in {video.COMPONENTS} dimensions span "
        f"everything that item scores can: {same.mean:.1%} of URLR's verdicts are those of "
        "Huber-LASSO-FL. The gap is not small but absent, by construction."
    )
    return Finding(verdict_of(parts), measured, why)


def bradley_terry_worse(rows: pd.DataFrame) -> Finding:
    """URLR against Bradley-Terry."""
    on_images = lower(densities(rows[rows["experiment"] == "image"]), URLR, BRADLEY_TERRY)
    ages = rows[rows["experiment"] == "age"]
    on_ages = paired(ages, URLR, BRADLEY_TERRY, setting=age.RATIOS, measure="tau")
    parts = [ahead(one) and one.mean > 0.02 for one in (on_images, on_ages)]
    measured = f"URLR ahead by {on_images} in distance on images, by {on_ages} in tau on ages"
    why = ""
    if not all(parts):
        why = (
            "Strengths regressed on the features with tuned ridges are a sound baseline: the "
            "regression does the smoothing that sparse votes need. The paper does not say how it "
            "tuned Bradley-Terry."
        )
    return Finding(verdict_of(parts), measured, why)


def criteria_prune_nothing(rows: pd.DataFrame) -> Finding:
    """What AIC and BIC would prune."""
    said, parts = [], []
    for data, at in (("image", 1.0), ("video", 1.0)):
        for criterion in ("bic", "aic"):
            share = mean_of(rows, experiment=data, measure="pruned share", method=criterion, at=at)
            parts.append(share.mean <= 0.005)
            said.append(f"{data}, {criterion.upper()}: {share.mean:.1%} of the edges")
    why = ""
    if not all(parts):
        why = (
            "A criterion charges each outlier for a parameter. Votes of +-1 that features explain "
            "badly leave large residuals everywhere; AIC's charge of 2 is then below what a freed "
            "residual saves, and it takes all the path offers (60 % of the edges at most)."
        )
    return Finding(verdict_of(parts), "; ".join(said), why)


def telling_features(rows: pd.DataFrame) -> Finding:
    """With and without the features most correlated with the truth."""
    images_ = rows[(rows["experiment"] == "image") & (rows["setting"] == image.TELLING_SETTING)]
    ages = rows[(rows["experiment"] == "age") & (rows["setting"] == age.FEWER_FEATURES)]

    def change(table: pd.DataFrame, what: str) -> Paired:
        both = table[table["measure"].str.startswith(f"{what}, ") & (table["method"] == URLR)]
        moved = both.assign(method=both["measure"])
        return paired(moved, f"{what}, fewer features", f"{what}, all features")

    worse, lost = change(images_, "distance"), change(ages, "tau")
    dropped = [mean_of(one, measure="dropped features").mean for one in (images_, ages)]
    parts = [abs(worse.mean) <= NEAR, abs(lost.mean) <= NEAR]
    measured = (
        f"images: distance {worse} without the {dropped[0]:.0f} features above |tau| 0.4; ages: "
        f"tau {lost} without {dropped[1]:.0f} of {age.DIMENSIONS}"
    )
    why = ""
    if not all(parts):
        why = (
            "Features that tell much of the truth are worth much, unless the others say the same. "
            "In the paper's data they may; in ours they do not."
        )
    return Finding(verdict_of(parts), measured, why)
