"""Images of classes with relative attributes: read from files, or generated in their likeness.

Real files lie in a folder `pubfig` or `scene`, each table as Parquet, CSV or CSV.gz:

    items        item, class, split ("train" or "test")
    features     item, then numeric columns
    votes        attribute, winner, loser, and annotator if known; training images only
    class_order  attribute, class, rank: a higher rank has more of it, equal ranks are equal

The stand-ins have the paper's sizes. How they are made, per trial anew:

- Every attribute orders the classes at random, with ties (more in Scene, whose categories are
  less distinct than people). An image's true value is the level of its class and its own
  deviation, 0.8 to 1.6 times as wide as the classes are apart; deviations share three causes
  (such as pose, light, expression), and 30 % of their variance leaves no trace in the features.
- Features are GIST-like energies of 4 scales x 8 orientations x 16 cells, alike among neighbours,
  log-normal; PubFig adds a colour histogram of 45 shares. The attributes move them, and so do 40
  other causes, most of them stronger, in which the classes differ a little too.
- Pairs are drawn among the training images; five of 40 workers judge each. A worker sees the true
  difference through noise of their own width, so that errors fall with the difference; some votes
  are slips of the hand.
- On some pairs most workers judge by another taste: a mixture of the other causes instead of the
  attribute. That is rare in PubFig; in Scene it is one pair in four, and as taste and truth agree
  on half of them, about an eighth of the pairs has a wrong majority.

The strength of all this was set by the share of wrong votes (a tenth in PubFig, a seventh in
Scene: the paper speaks of "limited annotation outliers"), and by the accuracy of Raw alone, to be
neither perfect nor hopeless; no two methods were compared for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.messages import message
from tasks.study.sources import check_named_once, compared, read_features, read_table, refuse
from urlr.arrays import Floats, Ints, Mask

WORKERS, PER_PAIR = 40, 5
CAUSES, STRENGTH = 40, 3.0
"""Of what is seen in an image and is no attribute; strength of the first, falling as k^-1/2."""
ENERGIES = 512


@dataclass(frozen=True, slots=True)
class AttributeVotes:
    """Votes on one attribute; items by row."""

    winner: Ints
    loser: Ints
    annotator: Any = None
    """(n_votes,) who voted; None if unknown."""

    def between(self, allowed: Mask) -> AttributeVotes:
        """Votes both of whose items are allowed."""
        kept = allowed[self.winner] & allowed[self.loser]
        who = None if self.annotator is None else np.asarray(self.annotator)[kept]
        return AttributeVotes(self.winner[kept], self.loser[kept], who)


@dataclass(frozen=True, slots=True)
class AttributeSet:
    """Images of classes, described by features and compared by attributes."""

    names: list[str]
    """(n_items,)"""
    values: Floats
    """(n_items, n_features)"""
    classes: tuple[str, ...]
    label: Ints
    """(n_items,) code of the class of each image."""
    train: Mask
    """(n_items,) images that votes and class models may use."""
    attributes: tuple[str, ...]
    votes: tuple[AttributeVotes, ...]
    """Per attribute."""
    ranks: Ints
    """(n_attributes, n_classes) a higher rank has more of the attribute."""
    truth: Floats | None = None
    """(n_items, n_attributes) true values, where they are known."""

    def first_attributes(self, count: int) -> AttributeSet:
        """The same with fewer attributes."""
        truth = None if self.truth is None else self.truth[:, :count]
        return replace(
            self,
            attributes=self.attributes[:count],
            votes=self.votes[:count],
            ranks=self.ranks[:count],
            truth=truth,
        )

    def with_random_votes(self, count: int, rng: np.random.Generator) -> AttributeSet:
        """Random comparisons of training images added to each attribute.

        Workers' names are drawn among those who voted: who they are betrays nothing.
        """
        images = np.flatnonzero(self.train)
        more = []
        for votes in self.votes:
            winner, loser = np.array([rng.choice(images, 2, replace=False) for _ in range(count)]).T
            who = votes.annotator
            if who is not None:
                who = np.append(np.asarray(who), rng.choice(np.unique(who), count))
            more.append(
                AttributeVotes(np.append(votes.winner, winner), np.append(votes.loser, loser), who)
            )
        return replace(self, votes=tuple(more))


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a stand-in is to be like."""

    n_images: int
    n_train: int
    classes: tuple[str, ...]
    attributes: tuple[str, ...]
    n_colours: int
    n_pairs: int
    equal: float
    """Chance that a class is as high as the one before it in the order of an attribute."""
    blur: float
    """Width of a typical worker's noise, in standard deviations of the class levels."""
    slips: float
    """Share of votes that are random."""
    taste: float
    """Share of pairs on which most workers judge by something else."""


PUBFIG = Likeness(
    n_images=772,
    n_train=241,
    classes=tuple(f"person {letter}" for letter in "ABCDEFGH"),
    attributes=(
        "smiling", "round face", "male", "young", "white", "chubby", "visible forehead",
        "bushy eyebrows", "narrow eyes", "pointy nose", "big lips",
    ),
    n_colours=45,
    n_pairs=418,
    equal=0.1,
    blur=0.5,
    slips=0.03,
    taste=0.03,
)  # fmt: skip
SCENE = Likeness(
    n_images=2688,
    n_train=240,
    classes=(
        "coast", "forest", "highway", "inside city", "mountain", "open country", "street",
        "tall building",
    ),
    attributes=(
        "natural", "open", "perspective", "large objects", "diagonal plane", "close depth",
    ),
    n_colours=0,
    n_pairs=426,
    equal=0.35,
    blur=0.35,
    slips=0.03,
    taste=0.25,
)  # fmt: skip


def stand_in(likeness: Likeness, rng: np.random.Generator) -> AttributeSet:
    """Generated images and votes in the likeness of a data set; see the head of this file."""
    n, n_classes = likeness.n_images, len(likeness.classes)
    label = np.arange(n) % n_classes
    train = np.arange(n) < likeness.n_train
    ranks = np.array([_ranks(n_classes, likeness.equal, rng) for _ in likeness.attributes])
    levels = np.array([_levels(order, rng) for order in ranks])
    truth, seen = _values(levels[:, label].T, rng)
    causes = rng.standard_normal((n, CAUSES))
    causes += 0.4 * rng.standard_normal((n_classes, CAUSES))[label]
    causes *= STRENGTH / np.sqrt(np.arange(1, CAUSES + 1))
    votes = tuple(
        _votes(likeness, truth[:, k], _standard(causes @ rng.standard_normal(CAUSES)), rng)
        for k in range(len(likeness.attributes))
    )
    return AttributeSet(
        names=[f"{likeness.classes[k]} {place // n_classes + 1}" for place, k in enumerate(label)],
        values=_features(np.column_stack([seen, causes]), likeness.n_colours, rng),
        classes=likeness.classes,
        label=label,
        train=train,
        attributes=likeness.attributes,
        votes=votes,
        ranks=ranks,
        truth=truth,
    )


def _ranks(n_classes: int, equal: float, rng: np.random.Generator) -> Ints:
    """(n_classes,) ranks from 0, some of them shared; at least two differ."""
    higher = rng.random(n_classes) >= equal
    higher[0], higher[rng.integers(1, n_classes)] = False, True
    return np.asarray(np.cumsum(higher)[rng.permutation(n_classes)], np.int64)


def _levels(ranks: Ints, rng: np.random.Generator) -> Floats:
    """(n_classes,) true mean of each class: steps of uneven height, standardised."""
    steps = np.cumsum(rng.uniform(0.5, 1.5, int(ranks.max()) + 1))
    return _standard(steps[ranks])


def _values(levels: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(n_items, n_attributes) true values, and what of them the features show."""
    n, n_attributes = levels.shape
    shared = rng.standard_normal((n, 3)) @ rng.standard_normal((3, n_attributes)) / np.sqrt(3)
    width = rng.uniform(0.8, 1.6, n_attributes)
    visible = np.sqrt(0.4) * shared + np.sqrt(0.6) * rng.standard_normal((n, n_attributes))
    hidden = rng.standard_normal((n, n_attributes))
    shown = np.sqrt(0.7) * width * visible
    return levels + shown + np.sqrt(0.3) * width * hidden, levels + shown


def _votes(
    likeness: Likeness, truth: Floats, taste: Floats, rng: np.random.Generator
) -> AttributeVotes:
    """Five workers on each of the pairs, drawn without repetition."""
    upper = np.triu_indices(likeness.n_train, 1)
    chosen = rng.choice(upper[0].size, likeness.n_pairs, replace=False)
    first, second = (np.repeat(side[chosen], PER_PAIR) for side in upper)
    n_votes = first.size
    who = np.concatenate(
        [rng.choice(WORKERS, PER_PAIR, replace=False) for _ in range(likeness.n_pairs)]
    )
    odd = np.repeat(rng.random(likeness.n_pairs) < likeness.taste, PER_PAIR)
    odd &= rng.random(n_votes) < 0.8
    judged = np.where(
        odd, truth.std() * (taste[first] - taste[second]), truth[first] - truth[second]
    )
    blur = likeness.blur * rng.lognormal(0.0, 0.5, WORKERS)
    judged = judged + blur[who] * rng.standard_normal(n_votes)
    slip = rng.random(n_votes) < likeness.slips
    wins = np.where(slip, rng.random(n_votes) < 0.5, judged > 0)
    return AttributeVotes(np.where(wins, first, second), np.where(wins, second, first), who)


def _features(latent: Floats, n_colours: int, rng: np.random.Generator) -> Floats:
    """(n_items, 512 + n_colours) log-normal energies, smooth over their neighbours, and shares."""
    n, n_latent = latent.shape
    cells = np.indices((4, 4)).reshape(2, -1)
    apart = np.abs(cells[:, :, None] - cells[:, None, :]).sum(axis=0)
    turned = np.abs(np.arange(8)[:, None] - np.arange(8))
    parts = [
        _smooth(np.abs(np.arange(4)[:, None] - np.arange(4)), n_latent, rng),
        _smooth(np.minimum(turned, 8 - turned), n_latent, rng),
        _smooth(apart, n_latent, rng),
    ]
    loadings = np.einsum("ks,ko,kc->ksoc", *parts).reshape(n_latent, ENERGIES)
    driven = latent @ loadings
    energies = np.exp(0.5 * (driven / driven.std() + 0.7 * rng.standard_normal((n, ENERGIES))))
    if not n_colours:
        return np.asarray(energies)
    near = np.abs(np.arange(n_colours)[:, None] - np.arange(n_colours))
    tint = latent @ _smooth(near, n_latent, rng)
    shares = np.exp(tint / tint.std() + 0.7 * rng.standard_normal((n, n_colours)))
    return np.column_stack([energies, shares / shares.sum(axis=1, keepdims=True)])


def _smooth(distance: Ints, count: int, rng: np.random.Generator) -> Floats:
    """(count, n) random values that are alike where the distance is small."""
    return np.asarray(rng.standard_normal((count, len(distance))) @ np.exp(-0.5 * distance**2.0))


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def load(folder: Path) -> AttributeSet:
    """Read a folder of real files.

    Raises
    ------
    StudyDataError
        Something is missing or does not fit; the message says what.
    """
    items = read_table(folder, "items", ["item", "class", "split"])
    index = pd.Index(items["item"])
    check_named_once(index, f"{folder}/items")
    splits = items["split"].astype(str)
    if not splits.isin(["train", "test"]).all():
        others = list(splits[~splits.isin(["train", "test"])].unique())
        refuse(message("unknown_split", folder=folder, found=others))
    label, names = pd.factorize(items["class"].astype(str), sort=True)
    classes = tuple(str(name) for name in names)
    train = (splits == "train").to_numpy()
    _refuse_small_classes(folder, classes, label, train)
    votes = read_table(folder, "votes", ["attribute", "winner", "loser"])
    votes = votes.assign(attribute=votes["attribute"].astype(str))
    attributes = tuple(str(name) for name in votes["attribute"].unique())
    winner, loser = compared(index, votes, f"{folder}/votes")
    if unseen := int(np.count_nonzero(~(train[winner] & train[loser]))):
        refuse(message("votes_on_test_items", folder=folder, count=unseen, total=len(votes)))
    who = votes["annotator"].to_numpy() if "annotator" in votes.columns else None
    of_attribute = [np.flatnonzero(votes["attribute"] == name) for name in attributes]
    return AttributeSet(
        names=[str(item) for item in items["item"]],
        values=read_features(folder, index),
        classes=classes,
        label=np.asarray(label, np.int64),
        train=train,
        attributes=attributes,
        votes=tuple(
            AttributeVotes(winner[rows], loser[rows], None if who is None else who[rows])
            for rows in of_attribute
        ),
        ranks=_class_order(folder, attributes, classes),
    )


def _refuse_small_classes(folder: Path, classes: Sequence[str], label: Any, train: Mask) -> None:
    if len(classes) < 3:
        refuse(message("too_few_classes", folder=folder, count=len(classes)))
    for split, mask, least in (("train", train, 2), ("test", ~train, 1)):
        counts = np.bincount(label[mask], minlength=len(classes))
        few = [name for name, count in zip(classes, counts, strict=True) if count < least]
        if few:
            refuse(
                message(
                    "small_classes",
                    folder=folder,
                    count=len(few),
                    total=len(classes),
                    names=few,
                    least=least,
                    split=split,
                )
            )


def _class_order(folder: Path, attributes: Sequence[str], classes: Sequence[str]) -> Ints:
    """(n_attributes, n_classes) ranks; every pair must be there, once."""
    order = read_table(folder, "class_order", ["attribute", "class", "rank"])
    rank = pd.to_numeric(order["rank"], errors="coerce")
    if bad := int(rank.isna().sum()):
        refuse(message("ranks_not_numbers", folder=folder, count=bad, total=len(order)))
    keys = pd.MultiIndex.from_arrays([order["attribute"].astype(str), order["class"].astype(str)])
    if not keys.is_unique:
        twice = [f"{a}, {c}" for a, c in keys[keys.duplicated()].unique()]
        refuse(message("several_ranks", folder=folder, pairs=twice))
    wanted = pd.MultiIndex.from_product([attributes, classes])
    missing = [f"{a}, {c}" for a, c in wanted.difference(keys)]
    if missing:
        count, total = len(missing), len(wanted)
        refuse(message("ranks_missing", folder=folder, count=count, total=total, pairs=missing))
    values = pd.Series(rank.to_numpy(np.float64), keys).loc[wanted].to_numpy()
    dense = [pd.Series(row).rank(method="dense") for row in values.reshape(len(attributes), -1)]
    return np.array(dense).astype(np.int64)
