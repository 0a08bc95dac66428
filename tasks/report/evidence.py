"""What the page of an attribute shows, gathered from its fit: made by the worker that has it all.

Everything here follows from the votes, the features, the settings and, for what is new, from the
last results; same input, same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.coordinated import coordinated_in, words_of
from tasks.evaluate import Judged
from tasks.messages import message
from tasks.report.columns import (
    counts,
    items_of,
    listed_votes,
    numbers,
    people_of,
    votes_of,
)
from tasks.report.data import (
    AttributePage,
    Cluster,
    Concentration,
    Diagnostics,
    Enough,
    Explorer,
    Group,
    Interval,
    Items,
    Moves,
    SelfTest,
    Taste,
)
from tasks.report.earlier import Earlier
from tasks.split import Split
from urlr import ConvergenceError, FeatureError, Ranker, VoteError
from urlr.diagnostics.aside_order import AsideOrder, aside_order
from urlr.diagnostics.concentration import Concentration as Found
from urlr.diagnostics.concentration import concentration
from urlr.diagnostics.contradictions import contradictions
from urlr.diagnostics.explorer import explore
from urlr.diagnostics.moves import moved
from urlr.diagnostics.self_test import self_test
from urlr.diagnostics.sufficiency import enough_votes
from urlr.ids import positions, shown
from urlr.sentence import Sentence
from urlr.summary import said_first, said_of_the_top
from urlr.verdicts import VERDICT_REASONS, LinkEvidence
from urlr.votes.ballots import ballots_of
from urlr.votes.table import VoteTable

_RESIDUAL_BINS = 20
_COMPONENTS = 10
_MOST_TASTES = 4
_VOTE_BINS = 20


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fit, and what it was made from."""

    attribute: str
    votes: VoteTable
    features: pd.DataFrame | None
    split: Split
    ranker: Ranker
    """Of all votes."""
    judge: Ranker | None
    """Of the train votes; None where they could not be ranked."""
    verdicts: pd.DataFrame
    """With `dump` and `row` where votes come from several files."""
    rows: dict[str, int]
    reasons: dict[str, int]
    unjudged: str = ""
    """Why there is no judge."""
    methods: tuple[Judged, ...] = ()
    times: pd.Series[Any] | None = None
    """When each row was cast."""
    before: Earlier | None = None


def page_of(fitted: Fitted) -> AttributePage:
    """Everything the page shows, with all votes that it lists."""
    ranker = fitted.ranker
    order = aside_order(ranker)
    before = fitted.before
    items = items_of(ranker, fitted.features)
    crowd = ranker.evidence.crowd if isinstance(ranker.evidence, LinkEvidence) else None
    found = concentration(fitted.votes, times=fitted.times, crowd=crowd)
    earlier = None if before is None else before.people
    people = people_of(ranker, fitted.verdicts, earlier)
    listed = listed_votes(fitted.verdicts, order)
    explorer, no_explorer = _explorer(fitted, order)
    test, no_test = _self_test(fitted)
    votes = votes_of(
        listed.votes,
        _whys(fitted, listed.votes, items),
        items=ranker.scores["item"],
        people=people.name,
        reasons=VERDICT_REASONS,
        times=fitted.times,
    )
    return AttributePage(
        attribute=fitted.attribute,
        rows=fitted.rows,
        reasons_not_counted=fitted.reasons,
        items=items,
        people=people,
        reasons=VERDICT_REASONS,
        n_pruned=ranker.facts.n_pruned_votes,
        n_turned=ranker.facts.n_turned_votes,
        summary=" ".join(
            [*said_first(ranker), _sentence(fitted, len(people.name)), *said_of_the_top(ranker)]
        ),
        explorer=explorer,
        no_explorer=no_explorer,
        concentration=_concentration(found, ranker, people.name),
        self_test=test,
        no_self_test=no_test,
        diagnostics=_diagnostics(fitted),
        moves=None if before is None else _moves(ranker, before),
        tastes=_tastes(ranker),
        n_listed=len(listed.votes),
        n_in_order=listed.n_in_order,
        n_per_part=max(len(listed.votes), 1),
        votes=votes,
    )


def _tastes(ranker: Ranker) -> tuple[Taste, ...]:
    """The ranking by each taste beside the consensus."""
    if ranker.voters is None:
        return ()
    scores = ranker.scores["score"].to_numpy(np.float64)
    found = []
    tastes: list[dict[str, Any]] = ranker.tastes.head(_MOST_TASTES).to_dict("records")  # type: ignore[assignment]
    for one in tastes:
        moved = scores + ranker.voters.items @ ranker.voters.centre(one["taste"])
        words = message(
            "taste_in_words",
            count=one["n_people"],
            up=[shown(item) for item in one["up"]],
            down=[shown(item) for item in one["down"]],
        )
        top = counts(np.argsort(-moved, kind="stable")[:10])
        found.append(Taste(one["n_people"], one["share"], one["n_votes"], one["tau"], top, words))
    return tuple(found)


def _sentence(fitted: Fitted, n_people: int) -> Sentence:
    """The attribute in plain words."""
    facts = fitted.ranker.facts
    aside = []
    if n_aside := facts.n_pruned_votes - facts.n_turned_votes:
        aside.append(message("votes_set_aside", count=n_aside))
    if facts.n_turned_votes:
        aside.append(message("votes_read_otherwise", count=facts.n_turned_votes))
    return message(
        "page_summary",
        items=len(fitted.ranker.scores),
        votes=fitted.rows["used"] + fitted.rows["ties"],
        people=message("by_people", count=n_people) if n_people else "",
        aside=", ".join(aside or [message("no_vote_set_aside")]),
        best=", ".join(shown(item) for item in fitted.ranker.scores["item"].head(3)),
    )


def _self_test(fitted: Fitted) -> tuple[SelfTest | None, str]:
    """Flip some votes on purpose, in a copy, and see how well they are found; or why that fails."""
    settings = fitted.ranker.settings
    rng = np.random.default_rng(settings.seed)
    try:
        found = self_test(fitted.votes, fitted.features, settings, like=fitted.ranker, rng=rng)
    except (VoteError, FeatureError, ConvergenceError) as error:
        return None, error.sentence
    auc = Interval(found.auc.value, found.auc.low, found.auc.high)
    return SelfTest(found.n_votes, found.n_flipped, auc, found.recall, found.lift), ""


def _whys(fitted: Fitted, listed: pd.DataFrame, items: Items) -> Sequence[str | None]:
    """What each pruned vote contradicts, in words."""
    place = pd.Series(np.arange(len(fitted.verdicts)), fitted.verdicts.index)
    pruned = listed["pruned"].to_numpy(np.bool_)
    found = contradictions(
        fitted.verdicts,
        fitted.ranker.scores,
        rows=place.loc[listed.index].to_numpy()[pruned],
        by_features=fitted.features is not None,
        log_odds=fitted.ranker.settings.method == "robust",
    )
    words: list[str | None] = [None] * len(listed)
    for number, at in enumerate(np.flatnonzero(pruned)):
        words[at] = found.sentence(number, items.name)
    return words


def _explorer(fitted: Fitted, order: AsideOrder) -> tuple[Explorer | None, str]:
    """What other shares would have given; or why that is not known."""
    if fitted.judge is None:
        return None, fitted.unjudged
    split, ranker = fitted.split, fitted.ranker
    held_out = pd.concat([split.held_out, split.unseen])
    try:
        found = explore(
            split.train,
            held_out if fitted.features is not None else split.held_out,
            fitted.features,
            ranker.settings,
            chosen=order.share,
            like=fitted.judge,
        )
    except (VoteError, FeatureError, ConvergenceError) as error:
        return None, error.sentence
    place = positions(pd.Index(ranker.scores["item"]), found.items)
    explorer = Explorer(
        share=numbers(found.share),
        n_pruned=counts([order.count(share) for share in found.share.tolist()]),
        agreement=numbers(found.agreement),
        low=numbers(found.low),
        high=numbers(found.high),
        top=tuple(counts(place[row]) for row in found.top),
        tau_chosen=numbers(found.tau_chosen),
        chosen=float(found.chosen),
        n_held_out=found.n_held_out,
        of_edges=ranker.settings.method == "paper",
    )
    return explorer, ""


def _concentration(found: Found, ranker: Ranker, people: Sequence[str]) -> Concentration:
    known = pd.Index(ranker.scores["item"])
    person_at = {name: place for place, name in enumerate(people)}

    def item_places(items: Sequence[Any]) -> tuple[int, ...]:
        return counts(positions(known, pd.Index(list(items), dtype=known.dtype)))

    clusters = tuple(
        Cluster(
            one.kind,
            str(one.name),
            one.n_votes,
            one.n_contrary,
            one.expected,
            one.p_value,
            one.q_value,
            one.words,
        )
        for one in found.clusters
    )
    groups = tuple(
        Group(
            tuple(person_at[str(name)] for name in one.people if str(name) in person_at),
            one.n_votes,
            one.inside,
            one.outside,
            item_places(one.items_up),
            item_places(one.items_down),
            one.words,
        )
        for one in found.groups
    )
    coordinated = coordinated_in(ranker, groups)
    what = "" if coordinated is None else words_of(coordinated)
    return Concentration(clusters, groups, found.n_tests, found.level, what)


def _moves(ranker: Ranker, before: Earlier) -> Moves:
    found = moved(ranker.scores, before.scores)
    known = pd.Index(ranker.scores["item"])
    return Moves(
        since=before.run,
        item=counts(positions(known, pd.Index(list(found.item), dtype=known.dtype))),
        now=found.now,
        now_low=found.now_low,
        now_high=found.now_high,
        before=found.before,
        before_low=found.before_low,
        before_high=found.before_high,
        n_compared=found.n_compared,
        n_new=found.n_new,
    )


def _diagnostics(fitted: Fitted) -> Diagnostics:
    ranker, facts = fitted.ranker, fitted.ranker.facts
    per_item = ranker.scores["n_votes"].to_numpy(np.float64)
    edges, histogram = _histogram(per_item, _VOTE_BINS, whole=True)
    residual_edges, residuals = _histogram(_residuals(fitted), _RESIDUAL_BINS)
    return Diagnostics(
        n_votes=fitted.rows["used"] + fitted.rows["ties"],
        n_items=facts.n_items,
        n_edges=facts.n_edges,
        n_components=facts.n_components,
        component_sizes=_component_sizes(fitted.votes),
        votes_per_item=histogram,
        votes_per_item_edges=edges,
        residual_edges=residual_edges,
        residuals=residuals,
        solver=facts.solver,
        violation=facts.violation,
        ridge=facts.ridge,
        methods=tuple((one.method, _tau(one.held_out), _tau(one.unseen)) for one in fitted.methods),
        warnings=facts.warnings,
        notes=facts.notes,
        enough=_enough(fitted),
    )


def _enough(fitted: Fitted) -> Enough:
    rng = np.random.default_rng(fitted.ranker.settings.seed)
    found = enough_votes(fitted.votes, fitted.features, fitted.ranker, rng=rng)
    of = found.reliability
    return Enough(
        reliability=None if of is None else Interval(of.value, of.low, of.high),
        votes=numbers(found.votes),
        expected=numbers(found.expected),
        words=found.words,
    )


def _residuals(fitted: Fitted) -> Any:
    """How far each vote is from what the ranking gives it."""
    counted = fitted.verdicts[fitted.verdicts["status"].isin(["used", "tie"])]
    margin = counted["margin"].to_numpy(np.float64, na_value=np.nan)
    claimed = np.where(counted["status"] == "tie", 0.0, 1.0)
    if fitted.ranker.settings.method == "robust":  # as probabilities
        claimed, margin = 0.5 + 0.5 * claimed, 1.0 / (1.0 + np.exp(-np.clip(margin, -50.0, 50.0)))
    residual = np.abs(claimed - margin)
    return residual[np.isfinite(residual)]


def _histogram(
    values: Any, bins: int, *, whole: bool = False
) -> tuple[tuple[float | None, ...], tuple[int, ...]]:
    if len(values) == 0:
        return (), ()
    most = float(values.max())
    edges = np.linspace(0.0, max(most, 1e-9), bins + 1)
    if whole:  # bins of as many whole numbers each
        step = max(1, int(np.ceil((most + 1) / bins)))
        edges = np.arange(0, most + 1 + step, step, dtype=np.float64)
    return numbers(edges), counts(np.histogram(values, edges)[0])


def _component_sizes(votes: VoteTable) -> tuple[int, ...]:
    ballots = ballots_of(votes)
    n = len(votes.items)
    ones = np.ones(ballots.rows.n_rows, np.int8)
    pairs = coo_array((ones, (ballots.rows.winner, ballots.rows.loser)), (n, n))
    _, label = connected_components(pairs, directed=False)
    return counts(np.sort(np.bincount(label))[::-1][:_COMPONENTS])


def _tau(found: Any) -> float | None:
    if found is None or found.shown is None:
        return None
    return float(found.shown.value)
