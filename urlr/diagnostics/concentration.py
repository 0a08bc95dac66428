"""Whether contrary votes come from somewhere in particular: from people, on items, at times.

A vote is contrary if it goes against the consensus that people are judged by (`people.crowd`).
Every person, item and span of time is asked whether it has more contrary votes than the pairs
compared there explain, and the answers are corrected together (Benjamini & Hochberg 1995). No
person is named who is not accused: people who differ in taste cast contrary votes too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import special

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.diagnostics.opposing_groups import Group, groups_of
from urlr.errors import ArgumentError, VoteError
from urlr.messages import message
from urlr.model.logistic import Penalties
from urlr.people.crowd import FEWEST_VOTES, Crowd, crowd_of
from urlr.people.poisson_binomial import lower_tail_deviates, sums
from urlr.people.reliability import Reliability, reliability, tallied
from urlr.people.verdicts import is_accusation, judged_people, q_values
from urlr.sentence import Sentence
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import VoteTable

SMALLEST_CROWD = 5
"""People below which nobody is judged by the others."""
Kind = Literal["person", "item", "time"]

LEVEL = 0.05
"""False discovery rate."""
_HOURLY = 3.0
"""Days up to which votes are looked at by the hour; beyond, by the day, and by the week ..."""
_DAILY = 366.0
"""... beyond this."""
_LACKING = 0.1 * 0.25**2 / 3.0
"""Variance of the reliability of fine people beyond their spread: one in ten has anything from 0.75
to 1 (`reliability`). Who happens to vote on an item, or at a time, is no news about it."""
_ITEM_SPREAD = 0.1
"""Standard deviation of the reliability of votes on an item: a score per item and one curve do not
describe any crowd exactly. Of 40 crowds of 60 good people, who are wrong on a quarter of 12,000
votes however far apart the items, 7 named an item without it and none with it."""
_NEVER = 1e-6
"""Chances and variances nearer to 0 than this are taken for this."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """More contrary votes in one place than chance explains."""

    kind: Kind
    name: Any
    """The annotator or the item as the votes name it, or the span of time in words, in UTC."""
    n_votes: int
    """Votes there that go with the consensus or against it."""
    n_contrary: int
    expected: float
    """Contrary votes to be expected there."""
    p_value: float
    q_value: float
    """Corrected for everything looked at."""
    words: Sentence
    """One plain sentence; long names are shortened in it."""


@dataclass(frozen=True, slots=True)
class Concentration:
    """Where contrary votes come from."""

    clusters: tuple[Cluster, ...]
    """Significant ones, most surprising first."""
    groups: tuple[Group, ...]
    """People who agree with each other against everybody else, the largest first."""
    n_contrary: int
    n_judged: int
    """Votes that go with the consensus or against it."""
    n_tests: int
    """People, items and spans of time looked at."""
    level: float


def concentration(
    votes: VoteTable,
    *,
    times: pd.Series[Any] | None = None,
    crowd: Crowd | None = None,
    level: float = LEVEL,
) -> Concentration:
    """Find the people, items and times that contrary votes come from, and who goes together.

    Of 480 simulated crowds of good people (24 settings, 200 to 20,000 votes by 12 to 100 people) 11
    named anything, 2 of them a person; most where a quarter of the votes is wrong and items have
    some 15 votes each: there 3 of 20. Where a tenth was careless, reversed, campaigning or of
    another taste, nobody else was named in 20 crowds of each of 36 settings. From 900 votes on all
    careless and reversed people were named, 75 to 100 % of a campaign that casts votes on purpose,
    90 to 100 % of those with another taste; of people who push items only where they happen to meet
    them, 10 to 52 %. The seeds are not those that the constants were chosen with. Work: 0.6 s for
    100,000 votes on 1,000 items by 500 people.

    Parameters
    ----------
    votes
        As read (`vote_table`); `Evidence.votes` of a fit.
    times
        (n_rows,) when each row was cast, as moments; missing where unknown.
    crowd
        What a fit knows of the people; looked at anew by votes alone if None.
    level
        False discovery rate over everything looked at.

    Raises
    ------
    VoteError
        If the times are not as many as the votes.
    ArgumentError
        If the level is no rate between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(message("not_between_0_and_1", name="level", value=level))
    if times is not None and len(times) != len(votes.status):
        n_votes = len(votes.status)
        raise VoteError(message("times_do_not_fit", n_times=len(times), n_votes=n_votes))
    if crowd is None:
        crowd = _crowd_of(ballots_of(votes))
    ballots = crowd.ballots
    seen = _Seen.of(crowd)
    people_found, of = _by_person(crowd, seen, level)
    looked = (
        people_found,
        _by_item(ballots, seen, votes.items, of),
        _by_time(ballots, seen, times, of),
    )
    tested = np.concatenate([one.tested for one in looked])
    corrected = q_values(np.concatenate([one.p_value for one in looked]), tested)
    ends = np.cumsum([one.p_value.size for one in looked])
    n_contrary = int(np.count_nonzero(seen.contrary))
    clusters: list[Cluster] = []
    for one, q_value in zip(looked, np.split(corrected, ends[:-1]), strict=True):
        clusters += one.clusters(q_value, level, n_contrary)
    # Some tails are below the smallest float: there, the largest surplus comes first.
    clusters.sort(key=lambda one: (one.p_value, one.expected - one.n_contrary))
    groups = groups_of(crowd, votes.items, of.typical)
    return Concentration(
        tuple(clusters),
        groups,
        n_contrary,
        int(np.count_nonzero(seen.judged)),
        int(np.count_nonzero(tested)),
        level,
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """Votes beside what the others say."""

    margin: Floats
    """(n_ballots,) log-odds of the vote as cast; 0 where nothing is known, and for ties."""

    @staticmethod
    def of(crowd: Crowd) -> _Seen:
        """By the consensus that people are judged by."""
        ballots = crowd.ballots
        return _Seen(np.where(ballots.tie | (ballots.weight <= 0), 0.0, crowd.margin))

    @property
    def judged(self) -> Mask:
        """(n_ballots,) votes that go with the consensus or against it."""
        return np.asarray(self.margin != 0)

    @property
    def contrary(self) -> Mask:
        """(n_ballots,) votes against it."""
        return np.asarray(self.margin < 0)


def _crowd_of(ballots: Ballots) -> Crowd:
    """The people beside a consensus by votes alone."""
    lean = 1.0 if ballots.has_sides else np.inf
    return crowd_of(ballots, np.zeros((ballots.rows.n_items, 0)), Penalties(1.0, 0.5, lean))


@dataclass(frozen=True, slots=True)
class _Places:
    """People, items or spans of time, each with its contrary votes."""

    kind: Kind
    names: pd.Index[Any]
    n_votes: Floats
    n_contrary: Floats
    expected: Floats
    p_value: Floats
    tested: Mask

    def clusters(self, q_value: Floats, level: float, n_all: int) -> list[Cluster]:
        """Those that are significant at the level."""
        return [
            Cluster(
                self.kind,
                self.names[place],
                int(self.n_votes[place]),
                int(self.n_contrary[place]),
                float(self.expected[place]),
                float(self.p_value[place]),
                float(q_value[place]),
                _words(
                    self.kind,
                    self.names[place],
                    int(self.n_contrary[place]),
                    float(self.expected[place]),
                    n_all,
                ),
            )
            for place in np.flatnonzero(self.tested & (q_value <= level)).tolist()
        ]


def _words(kind: Kind, name: Any, n_contrary: int, expected: float, n_all: int) -> Sentence:
    usual = message("less_than_one") if expected < 0.95 else f"{expected:,.0f}"
    of_all = message("contrary_of_all", count=n_contrary, n_all=n_all)
    if kind == "person":
        return message("contrary_person", name=name, of_all=of_all, usual=usual)
    if kind == "item":
        return message("contrary_item", name=name, of_all=of_all, usual=usual)
    return message("contrary_time", when=name, of_all=of_all, usual=usual)


def _by_person(crowd: Crowd, seen: _Seen, level: float) -> tuple[_Places, Reliability]:
    """Everybody beside a typical person on the same pairs; found are the accused alone."""
    ballots, names = crowd.ballots, crowd.ballots.names
    rows, person = _votes_of_people(ballots, seen)
    if len(names) < SMALLEST_CROWD:  # nobody is judged: all votes are taken for those of one person
        rows = np.flatnonzero(seen.judged)
        names, person = pd.Index(["all"]), np.zeros(rows.size, np.int32)
    margin, n = seen.margin[rows], len(names)
    of = reliability(tallied(margin, person, n))
    n_votes = sums(person, np.ones(person.size), n)
    able = (n_votes >= FEWEST_VOTES) & (of.p_smallest <= level)
    expected = sums(person, 0.5 - 0.5 * of.typical.contrast(np.abs(margin)), n)
    p_value = of.p_value
    if len(names) == len(ballots.names):
        accused = is_accusation(judged_people(crowd).verdict)
        p_value = np.where(accused, p_value, 1.0)
    places = _Places(
        "person",
        names,
        n_votes,
        sums(person, margin < 0, n),
        expected,
        p_value,
        able & (len(ballots.names) >= SMALLEST_CROWD),
    )
    return places, of


def _votes_of_people(ballots: Ballots, seen: _Seen) -> tuple[Ints, Codes]:
    """Positions of the judged votes that have a name, sorted by person, and their people."""
    rows = np.flatnonzero(seen.judged & (ballots.annotator >= 0))
    rows = rows[np.argsort(ballots.annotator[rows], kind="stable")]
    return rows, ballots.annotator[rows]


def _by_item(ballots: Ballots, seen: _Seen, items: pd.Index[Any], of: Reliability) -> _Places:
    """Every item beside the others; a vote counts for both of its items."""
    rows = np.flatnonzero(seen.judged)
    place = np.concatenate([ballots.rows.winner[rows], ballots.rows.loser[rows]])
    both = np.concatenate([rows, rows])
    return _beside("item", items, place, both, ballots, seen, of, spread=_ITEM_SPREAD)


def _by_time(
    ballots: Ballots, seen: _Seen, times: pd.Series[Any] | None, of: Reliability
) -> _Places:
    """Every hour, day or week with votes beside the others."""
    rows = np.flatnonzero(seen.judged)
    moments = pd.DatetimeIndex([], tz="UTC")
    if times is not None:
        moments = pd.DatetimeIndex(pd.to_datetime(times.iloc[ballots.place[rows]], utc=True))
        rows, moments = rows[moments.notna()], moments[moments.notna()]
    place, names = _spans(moments)
    return _beside("time", names, place, rows[: len(place)], ballots, seen, of, spread=0.0)


def _spans(moments: pd.DatetimeIndex) -> tuple[Codes, pd.Index[Any]]:
    """Span of each moment, and the spans in words: hours, days or weeks, by how long it all took.

    One span alone is no place in particular.
    """
    if len(moments) == 0:
        return np.zeros(0, np.int32), pd.Index([])
    days = (moments.max() - moments.min()) / pd.Timedelta(days=1)
    step = "h" if days <= _HOURLY else "D" if days <= _DAILY else "W"
    begin = moments.floor("h" if step == "h" else "D")
    if step == "W":
        begin = begin - pd.to_timedelta(begin.day_of_week, unit="D")
    codes, spans = pd.factorize(begin, sort=True)
    if len(spans) < 2:
        return np.zeros(0, np.int32), pd.Index([])
    if step == "h":
        hour = pd.Timedelta(hours=1)
        words = [message("in_hour", start=one, end=one + hour) for one in spans]
    elif step == "D":
        words = [message("on_day", day=one) for one in spans]
    else:
        words = [message("in_week", start=one) for one in spans]
    return codes.astype(np.int32), pd.Index(words)


def _beside(
    kind: Kind,
    names: pd.Index[Any],
    place: Codes,
    rows: Ints,
    ballots: Ballots,
    seen: _Seen,
    of: Reliability,
    *,
    spread: float,
) -> _Places:
    """Compare places with all votes, as if everybody had the mean reliability of these.

    Every contrary vote counts the same: weighed by what its margin tells, an item with few votes
    would answer for the margins that these votes themselves have bent. Beside the chance of every
    vote, who happens to vote there is chance too, and places may differ in reliability by a
    standard deviation of `spread`.
    """
    n, n_people = len(names), max(len(ballots.names), 1)
    margin = seen.margin[rows]
    contrast = of.typical.contrast(np.abs(margin))
    mean = float(np.sign(margin).sum()) / max(float(contrast.sum()), _NEVER)
    mean = min(max(mean, -1.0), 1.0)
    n_votes, n_contrary = sums(place, np.ones(place.size), n), sums(place, margin < 0, n)
    tallies = tallied(margin, place, n)
    half = tallies.margin.size // 2
    sides = (tallies.counts[:, half:] + tallies.counts[:, :half][:, ::-1]).tocoo()
    agrees = 0.5 + 0.5 * mean * of.typical.contrast(tallies.margin[half:])
    chance, ones = np.clip(agrees, _NEVER, 1.0 - _NEVER)[sides.col], np.ones(sides.col.size)
    deviate = lower_tail_deviates(ones, chance, sides.data, sides.row, n_votes - n_contrary)
    variance = sums(sides.row, sides.data * chance * (1.0 - chance), n)

    # How many votes a change of the reliability by 1 would turn, of one person and of all.
    turned = 0.5 * contrast
    named = np.flatnonzero(ballots.annotator[rows] >= 0)
    code = place[named].astype(np.int64) * n_people + ballots.annotator[rows[named]]
    cell, cells = pd.factorize(code)
    by_person = sums(cells // n_people, sums(cell, turned[named], len(cells)) ** 2, n)
    extra = (of.typical.spread**2 + _LACKING) * by_person + (spread * sums(place, turned, n)) ** 2
    return _Places(
        kind,
        names,
        n_votes,
        n_contrary,
        sums(place, 0.5 - 0.5 * mean * contrast, n),
        special.ndtr(deviate / np.sqrt(1.0 + extra / np.maximum(variance, _NEVER))),
        n_votes >= FEWEST_VOTES,
    )
