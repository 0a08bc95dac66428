"""Who of the people that voted can be trusted.

Everybody is compared with a typical person on exactly the pairs they voted on (`reliability`), and
with the others who depart from the consensus (`voting_groups`). Of those flagged, careless,
reversed or part of a group, at most `level` are expected to be flagged wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.poisson_binomial import sums
from urlr.reliability import Reliability, reliability, tallied
from urlr.voting_groups import OrientedVotes, SharedDepartures

Verdict = Literal[
    "fine", "careless", "reversed", "against the consensus as part of a group", "too few votes"
]
"""careless: agrees less than fine people do; reversed: votes the other way around; part of a group:
departs from the consensus where others depart from it too; too few votes: not flagged, and neither
would a guesser be, more often than not, on the same pairs; fine: all others."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FINE, CARELESS, REVERSED, GROUP, TOO_FEW = range(len(VERDICTS))

_FEWEST = 5
"""Decided votes below which nobody is judged."""
_ODD = 0.02
"""p-value below which a person may be the seed of a group, and does not form the consensus."""
_TURNED_AROUND = -0.5
"""Reliability below which a person is no seed: the reversed share what the model misses."""
_SMALLEST_GROUP, _SMALLEST_CROWD = 3, 10
_LIKE_FINE = 0.05
"""A person whose votes, turned around, have at least this p-value is reversed and nothing else."""
_Z = 1.6448536269514722
"""90 % of a normal distribution lie between -Z and Z."""
_ONE_SIDED, _HASTY = 4.0, 1.0 / 3.0
"""Worth a word: a share of left choices so many standard errors from the crowd's, and a median time
below this part of the crowd's."""


def annotator_table(
    *,
    winner: Codes,
    loser: Codes,
    tie: Mask,
    margin: Floats,
    annotator: Codes,
    names: pd.Index[Any],
    n_items: int,
    error_rate: Floats,
    pruned: Mask,
    side: Floats | None = None,
    seconds: Floats | None = None,
    level: float = 0.1,
) -> pd.DataFrame:
    """Judge everybody who voted: the flagged, the fine, those with too few votes; worst first.

    A person has two ways of being off, agreeing too little and departing together with others; the
    smaller of the two p-values, doubled, goes through Benjamini & Hochberg over all who could be
    found out at all. Over simulated crowds of 100 and 200 people with 20, 50 or 200 votes each, of
    whom none to a third were careless, reversed, campaigning or of another taste, 0 to 5 % of those
    flagged were good (means over 30 seeds of 72 settings); about 10 % where good people slip, some
    never and some on a fifth of their votes. Who might as well toss a coin on a quarter more of the
    votes than is usual may still be fine; who does so on more is flagged, given enough votes.

    Parameters
    ----------
    winner, loser
        (n_votes,) positions of the items; for ties the two items.
    tie
        (n_votes,) votes without a decision: counted, not judged.
    margin
        (n_votes,) log-odds that the winner is better, from a model that has not seen the votes of
        this person; NaN is taken for 0, where agreement counts one half.
    annotator
        (n_votes,) who voted, as a position in `names`; -1 for votes without a name, left out.
    error_rate
        (n_people,) the model's own estimate, handed on.
    pruned
        (n_votes,) votes that were set aside.
    side
        (n_votes,) 1 if the winner was shown on the left, -1 on the right, 0 unknown.
    seconds
        (n_votes,) how long the vote took, NaN unknown.
    level
        False discovery rate: expected share of wrongly flagged among those flagged.

    Returns
    -------
    pandas.DataFrame
        One row for each person with a vote: annotator, n_votes, agreement (share of the decided
        votes that go with the model), beyond_chance (2 agreement - 1) with its 90 % Wilson
        interval low to high, expected (agreement of a typical person on these pairs), error_rate,
        pruned (share), left (share of choices), seconds (median), verdict, q_value of the flag,
        and the evidence in words. What is not known is NaN.

    Raises
    ------
    ArgumentError
        If the level is no rate between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(message("not_between_0_and_1", name="level", value=level))
    n_people = len(names)
    voter = np.where(annotator >= 0, annotator, n_people)  # nobody's votes are counted last

    def total(per_vote: Floats | Mask) -> Floats:
        return sums(voter, per_vote, n_people + 1)[:n_people]

    margin = np.where(np.isnan(margin), 0.0, margin)
    decided = (annotator >= 0) & ~tie
    rows = np.flatnonzero(decided)
    rows = rows[np.argsort(annotator[rows], kind="stable")]
    judged = judged_people(
        winner[rows],
        loser[rows],
        margin[rows],
        annotator[rows],
        n_people=n_people,
        n_items=n_items,
        level=level,
    )
    n_votes, n_decided = total(annotator >= 0), total(decided)
    typical = 0.5 + 0.5 * judged.of.typical.contrast(np.abs(margin))
    agreement = _share(total(np.where(decided, 0.5 + 0.5 * np.sign(margin), 0.0)), n_decided)
    low, high = _wilson(agreement, n_decided)
    shown = np.zeros(tie.size) if side is None else np.where(decided, side, 0.0)
    n_shown = total(shown != 0)
    counted = {
        "annotator": names,
        "n_votes": n_votes.astype(np.int64),
        "agreement": agreement,
        "beyond_chance": 2.0 * agreement - 1.0,
        "low": 2.0 * low - 1.0,
        "high": 2.0 * high - 1.0,
        "expected": _share(total(np.where(decided, typical, 0.0)), n_decided),
        "error_rate": error_rate,
        "pruned": _share(total(pruned), n_votes),
        "left": _share(total(shown > 0), n_shown),
        "seconds": _medians(voter, seconds, n_people),
        "verdict": pd.Categorical.from_codes(judged.verdict, categories=pd.Index(VERDICTS)),
        "q_value": judged.q_value,
    }
    table = pd.DataFrame(counted)
    table["evidence"] = _evidence(table, judged, n_decided, n_shown)
    place = np.select([judged.verdict == FINE, judged.verdict == TOO_FEW], [1, 2], 0)
    order = np.lexsort((judged.of.rho, judged.p_value, place))
    return table.iloc[order[n_votes[order] > 0]].reset_index(drop=True)


@dataclass(frozen=True, slots=True)
class JudgedPeople:
    """Verdict on each person, with what led to it."""

    verdict: Ints
    """(n_people,) as a position in `VERDICTS`."""
    q_value: Floats
    """(n_people,) 1 for those who could not be found out."""
    p_value: Floats
    """(n_people,) of both ways of being off."""
    able: Mask
    """(n_people,) who could be found out at all."""
    of: Reliability


def judged_people(
    winner: Codes,
    loser: Codes,
    margin: Floats,
    person: Codes,
    *,
    n_people: int,
    n_items: int,
    level: float,
) -> JudgedPeople:
    """Test everybody for low agreement and for shared departures; tell the flagged apart.

    The votes are decided, and sorted by person.
    """
    of = reliability(tallied(margin, person, n_people))
    able = (np.bincount(person, minlength=n_people) >= _FEWEST) & (of.p_smallest <= level)
    ahead = margin >= 0
    favourite, other = np.where(ahead, winner, loser), np.where(ahead, loser, winner)
    contrast = of.typical.contrast(np.abs(margin))
    votes = OrientedVotes(person, favourite, other, ahead, contrast, n_items)
    p_group = _group_p_values(votes, of, able, level)
    ways = 1 if p_group is None else 2
    if p_group is None:
        p_group = np.ones(n_people)
    p_value = np.minimum(ways * np.minimum(of.p_value, p_group), 1.0)
    q_value = q_values(p_value, able)
    flagged = q_value <= level

    turned = flagged & (q_values(of.p_guessing, flagged) <= level) & (of.turned > 0)
    together = flagged & (q_values(p_group, flagged) <= level)
    together &= ~(turned & (of.p_turned > _LIKE_FINE))
    together &= np.count_nonzero(together) > 1
    # The largest p-value that is flagged, or would be if it were the only one.
    n_flagged, n_able = int(np.count_nonzero(flagged)), int(np.count_nonzero(able))
    cut = level * max(n_flagged, 1) / max(n_able, 1)
    unnoticed = ~able | (ways * of.p_of_guesser > cut)
    verdict = np.where(flagged, CARELESS, np.where(unnoticed, TOO_FEW, FINE))
    verdict[turned], verdict[together] = REVERSED, GROUP
    return JudgedPeople(verdict, q_value, p_value, able, of)


def _group_p_values(
    votes: OrientedVotes, of: Reliability, able: Mask, level: float
) -> Floats | None:
    """p-values against the pull of a group; None if there is none.

    A group is first looked for around two kinds of seeds: people with low agreement who are not
    just reversed, and people whose departures go together in one half of the votes, tested on the
    other half. Who goes with the seeds is the group, whatever the agreement; then everybody is
    tested against the group alone, as the seeds contain others too.
    """
    odd = able & (of.p_bulk <= _ODD)
    departures = SharedDepartures(votes, of.rho, odd)
    group = np.zeros(able.size, np.bool_)
    seeds = odd & (of.rho > _TURNED_AROUND)
    if np.count_nonzero(seeds) >= _SMALLEST_GROUP:
        p_values = departures.p_values(seeds)
        group |= (q_values(p_values, odd) <= level) | (q_values(p_values, able) <= level)
    if np.count_nonzero(able) >= _SMALLEST_CROWD:
        first = votes.every_other
        by_half = [
            departures.p_values(departures.leading(able, among=half), tested=~half)
            for half in (first, ~first)
        ]
        group |= q_values(np.minimum(2.0 * np.minimum(*by_half), 1.0), able) <= level
    if np.count_nonzero(group) < _SMALLEST_GROUP:
        return None
    return SharedDepartures(votes, of.rho, odd | group).p_values(group)


def q_values(p_values: Floats, tested: Mask) -> Floats:
    """Benjamini & Hochberg (1995) over those tested; 1 for the others."""
    order = np.flatnonzero(tested)
    order = order[np.argsort(p_values[order], kind="stable")]
    scaled = p_values[order] * order.size / np.arange(1, order.size + 1)
    q_values = np.ones(p_values.size)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q_values


def _share(part: Floats, whole: Floats) -> Floats:
    share: Floats = np.full(whole.size, np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _wilson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """90 % interval of a share (Wilson 1927); 0 to 1 without votes."""
    known, n = n > 0, np.maximum(n, 1.0)
    share = np.where(known, share, 0.5)
    centre = (share + _Z**2 / (2.0 * n)) / (1.0 + _Z**2 / n)
    reach = _Z * np.sqrt(share * (1.0 - share) / n + (_Z / (2.0 * n)) ** 2) / (1.0 + _Z**2 / n)
    low, high = np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
    return np.where(known, low, 0.0), np.where(known, high, 1.0)


def _medians(voter: Ints, seconds: Floats | None, n_people: int) -> Floats:
    """Median time of each person; NaN if unknown."""
    medians = np.full(n_people, np.nan)
    if seconds is None:
        return medians
    by_person = pd.Series(seconds).groupby(voter).median()
    medians[by_person.index[by_person.index < n_people]] = by_person[by_person.index < n_people]
    return medians


def _evidence(
    table: pd.DataFrame, judged: JudgedPeople, n_decided: Floats, n_shown: Floats
) -> list[str]:
    """One sentence for each person, with the numbers that led to the verdict."""
    agreement, expected, left, seconds = (
        table[name].to_numpy(np.float64) for name in ("agreement", "expected", "left", "seconds")
    )
    usual_left = float(np.nansum(left * n_shown)) / max(float(n_shown.sum()), 1.0)
    error = np.sqrt(max(usual_left * (1.0 - usual_left), 1e-4) / np.maximum(n_shown, 1.0))
    one_sided = np.abs(left - usual_left) > _ONE_SIDED * error
    timed = seconds[~np.isnan(seconds)]
    usual_time = float(np.median(timed)) if timed.size > 0 else np.nan
    hasty = seconds < _HASTY * usual_time
    n_others = int(np.count_nonzero(judged.verdict == GROUP)) - 1
    endings = {
        CARELESS: message("guessing_gives_half"),
        GROUP: message("departs_with_others", n_others=n_others),
        TOO_FEW: message("too_few_to_stand_out"),
    }

    def sentence(person: int) -> str:
        n = int(n_decided[person])
        if n == 0:
            return message("no_decided_votes")
        agrees, verdict = agreement[person], int(judged.verdict[person])
        said = [message("agrees_on", agreement=agrees, n_decided=n, expected=expected[person])]
        if verdict == REVERSED:
            said.append(message("turned_around", agreement=1.0 - agrees))
        elif verdict != FINE:
            said.append(endings[verdict])
        if one_sided[person]:
            said.append(message("one_sided", left=left[person]))
        if hasty[person]:
            said.append(message("hasty", seconds=seconds[person], usual=usual_time))
        return "; ".join(said)

    return [sentence(person) for person in range(len(table))]
