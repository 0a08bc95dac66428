"""Verdicts on the people who voted: the only place where anybody is accused, and the one column
that everything reads.

Accused are the careless, the reversed, the one-sided and the coordinated, and at most a tenth of
these accusations should be mistaken. Nobody is accused because they differ: a person counts as
careless only if what they say is predicted neither by the consensus, nor by a taste that others
share, nor by what they say themselves in other votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import gammaincinv, ndtr

from urlr.arrays import Floats, Ints, Mask
from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.people.crowd import FEWEST_VOTES, REVERSED, Crowd
from urlr.people.dependence import agreement_with_oneself
from urlr.people.directions import departures, folds_of_votes, leading
from urlr.people.poisson_binomial import sums
from urlr.people.reliability import Reliability, reliability, tallied

Verdict = Literal[
    "fine",
    "careless",
    "reversed",
    "one-sided",
    "coordinated",
    "different taste",
    "too few votes",
]
"""careless: votes no better than guesses; reversed: votes the other way around; one-sided: prefers
what is shown on one side, whatever it is; coordinated: acts together with others; different taste:
differs from the consensus, which is no accusation; too few votes: not accused, and neither would a
guesser be, more often than not, on the same pairs; fine: all others."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FINE, CARELESS, REVERSED_PERSON, ONE_SIDED, COORDINATED, OTHER_TASTE, TOO_FEW = range(len(VERDICTS))
ACCUSATIONS = VERDICTS[CARELESS : COORDINATED + 1]


def is_accusation(verdict: Ints) -> Mask:
    """Whether verdicts, as positions in `VERDICTS`, accuse somebody."""
    return (verdict >= CARELESS) & (verdict <= COORDINATED)


_LEVEL = 0.1
_GUESSER = 0.05
"""Who is careless has at most this chance of a reliability above 0.75."""
_CONSISTENT = 2.5
"""Standard errors beyond which somebody's departures from the consensus agree with each other."""
_SIDED = 1.0
"""Log-odds up to which a preference for a side is nothing to accuse anybody of."""
_SIDED_LEVEL = 0.1
"""Part of the false discovery rate that is left for these: whoever always chooses one side is
found by any, and where many do, a tenth of them would be a good part of the others."""
_APART = 0.99
"""How sure it must be that somebody's taste is another one."""
_MATERIAL = 0.3
"""And how large that taste is beside the consensus, as a share of its margins."""
_FLAT = 0.5
"""Of the square of the consensus' margins: a taste that leaves less of them is none."""
_SLOPES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Along a direction of unit mean square, tried for those who share a taste."""
_FEWEST_ALIKE = 3
"""Suspects below which they are not compared with each other."""
_WITNESS = 0.3
"""Who has at most this chance of a reliability above 0.75 may share a taste with others so."""
_COUNTS, _SURELY, _SHARED, _ALIKE = 2.0, 5.0, 2.0, 0.5
"""The evidence for that counts as a root of so many times it, in standard errors, and at most so
much; from the third on it is enough for whoever shares the taste with the fourth as a chance. In 40
simulated crowds with people who toss coins it was 1.4 at most."""
_AGREES = 0.97
"""Who agrees more than a guesser with at least this chance is not careless."""
_NEARLY = 0.75
"""Standard errors within which a verdict by consistency is borderline."""
_HALVES = ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 4, 5), (2, 3, 6, 7), (0, 2, 4, 6), (1, 3, 5, 7))
_DIRECTIONS = 2
"""Directions of common departures that are looked at."""
_NEAR = 4.0
"""A verdict is borderline if at a level so many times higher, or lower, it would be another."""
_Z = 1.6448536269514722
"""90 % of a normal distribution lie between -Z and Z."""
_ODD_SIDE, _HASTY = 4.0, 1.0 / 3.0
"""Worth a word: a share of left choices so many standard errors from the crowd's, and a median time
below this part of the crowd's."""


def people_table(
    crowd: Crowd,
    pruned: Mask,
    *,
    level: float = _LEVEL,
    judged: JudgedPeople | None = None,
    taste: Ints | None = None,
) -> pd.DataFrame:
    """Judge everybody who voted: the accused, the fine, those with too few votes; worst first.

    Parameters
    ----------
    crowd
        What is known of everybody, see `urlr.people.crowd`.
    pruned
        (n_votes,) votes that do not count as they were cast.
    level
        False discovery rate: expected share of wrongly accused among those accused.
    judged
        See `judged_people`, if that is known.
    taste
        (n_people,) number of everybody's taste, see `urlr.people.prediction`.

    Returns
    -------
    pandas.DataFrame
        One row for each person with a vote: annotator, n_votes, agreement (share of the decided
        votes that go with the consensus of the others), beyond_chance (2 agreement - 1) with its
        90 % Wilson interval low to high, expected (agreement of a typical person on these pairs),
        error_rate (share of wrong votes beside taste and side), pruned (share), left (share of
        choices), seconds (median), verdict, q_value of the accusation, borderline (whether a
        little more or less evidence would make it another verdict), group (number of the group
        that acts together, 0 for none), taste (number of the group of that taste, 0 for that of the
        consensus), and the evidence in words. What is not known is NaN.

    Raises
    ------
    ArgumentError
        If the level is no rate between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(message("not_between_0_and_1", name="level", value=level))
    ballots = crowd.ballots
    n_people = len(ballots.names)
    voter = np.where(ballots.annotator >= 0, ballots.annotator, n_people)

    def total(per_vote: Floats | Mask) -> Floats:
        return sums(voter, per_vote, n_people + 1)[:n_people]

    if judged is None:
        judged = judged_people(crowd, level=level)
    decided = (ballots.annotator >= 0) & ~ballots.tie
    n_votes, n_decided = total(ballots.annotator >= 0), total(decided)
    margin = crowd.margin
    typical = 0.5 + 0.5 * judged.of.typical.contrast(np.abs(margin))
    agreement = _share(total(np.where(decided, 0.5 + 0.5 * np.sign(margin), 0.0)), n_decided)
    low, high = _wilson(agreement, n_decided)
    shown = np.where(decided, ballots.rows.side, 0.0)
    n_shown = total(shown != 0)
    counted = {
        "annotator": ballots.names,
        "n_votes": n_votes.astype(np.int64),
        "agreement": agreement,
        "beyond_chance": 2.0 * agreement - 1.0,
        "low": 2.0 * low - 1.0,
        "high": 2.0 * high - 1.0,
        "expected": _share(total(np.where(decided, typical, 0.0)), n_decided),
        "error_rate": crowd.error_rate,
        "pruned": _share(total(pruned), n_votes),
        "left": _share(total(shown > 0), n_shown),
        "seconds": _medians(voter, ballots.seconds, n_people),
        "verdict": pd.Categorical.from_codes(judged.verdict, categories=pd.Index(VERDICTS)),
        "q_value": judged.q_value,
        "borderline": judged.borderline,
        "group": crowd.group,
        "taste": np.zeros(n_people, np.int64) if taste is None else taste,
    }
    table = pd.DataFrame(counted)
    table["evidence"] = _evidence(table, crowd, judged, n_decided, n_shown)
    order = np.lexsort((judged.of.rho, judged.q_value, _PLACE[judged.verdict]))
    return table.iloc[order[n_votes[order] > 0]].reset_index(drop=True)


_PLACE = np.array([3, 1, 1, 1, 0, 2, 4])
"""Groups first, then others who are accused, other tastes, the fine, those with too few votes."""


@dataclass(frozen=True, slots=True)
class JudgedPeople:
    """Verdict on each person, with what led to it."""

    verdict: Ints
    """(n_people,) as a position in `VERDICTS`."""
    q_value: Floats
    """(n_people,) 1 for those who could not be found out."""
    borderline: Mask
    of: Reliability


def judged_people(crowd: Crowd, *, level: float = _LEVEL) -> JudgedPeople:
    """Test everybody for agreeing too little, and for a side; tell the accused apart."""
    ballots, n = crowd.ballots, len(crowd.ballots.names)
    rows = np.flatnonzero((ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0))
    rows = rows[np.argsort(ballots.annotator[rows], kind="stable")]
    person = ballots.annotator[rows]
    own = crowd.margin + np.where(_flat(crowd)[ballots.annotator], 0.0, crowd.own_taste)
    of = reliability(tallied((own + crowd.own_side)[rows], person, n))
    enough = (np.bincount(person, minlength=n) >= FEWEST_VOTES) & (crowd.group == 0)
    able = enough & (of.p_smallest <= level) & ~crowd.reversed
    sided = enough & np.isfinite(crowd.side_error)
    p_sided = np.where(sided, _sidedness(crowd), 1.0)
    q_low, q_sided = q_values(of.p_value, able), q_values(p_sided, sided)

    alike, sharing = _sharing(crowd, of, enough & ~crowd.reversed & (of.worthy <= _WITNESS))
    consistent = np.maximum(_consistency(crowd, of), 0.0)
    consistent += np.sqrt(alike) * min(np.sqrt(_COUNTS * sharing), _SURELY)
    differs = (consistent >= _CONSISTENT) | ((sharing > _SHARED) & (alike > _ALIKE))
    guesses = (of.worthy <= _GUESSER) & (of.agrees <= _AGREES)
    low, one_sided = q_low <= level, q_sided <= _SIDED_LEVEL * level
    apart = _other_taste(crowd) & enough & ~crowd.reversed
    careless = low & guesses & ~differs & ~one_sided
    odd = (low & ~careless) | (crowd.error_rate > REVERSED)
    unnoticed = ~(able | crowd.reversed) | (of.p_of_guesser > _cut(q_low, able, level))
    verdict = np.where(unnoticed, TOO_FEW, FINE)
    verdict[enough & (apart | (odd & differs))] = OTHER_TASTE
    verdict[careless], verdict[one_sided] = CARELESS, ONE_SIDED
    verdict[crowd.reversed], verdict[crowd.group > 0] = REVERSED_PERSON, COORDINATED
    q_value = np.where(crowd.reversed, of.p_value, np.minimum(q_low, q_sided))
    evidence = np.append(0.0, crowd.evidence)[crowd.group]
    q_value = np.where(crowd.group > 0, np.exp(-evidence), q_value)

    near_low = (q_low > level / _NEAR) & (q_low <= level * _NEAR) & guesses
    near_own = low & guesses & (np.abs(consistent - _CONSISTENT) < _NEARLY)
    near_worth = low & (of.worthy > _GUESSER / _NEAR) & (of.worthy <= _GUESSER * _NEAR)
    near_worth |= low & (np.abs(of.agrees - _AGREES) < 0.08)
    near_worth &= of.worthy <= _GUESSER * _NEAR
    near_careless = ((near_low | near_worth) & ~differs) | near_own
    near_side = q_sided * _NEAR > _SIDED_LEVEL * level
    near_side &= q_sided <= _SIDED_LEVEL * level * _NEAR
    known = able & ~crowd.reversed
    near_reversed = enough & (np.abs(crowd.error_rate - REVERSED) < 0.05)
    borderline = (near_careless & known) | (near_side & sided)
    borderline |= near_reversed & bool(crowd.reversed.any())
    return JudgedPeople(verdict, q_value, borderline, of)


def differing(crowd: Crowd, judged: JudgedPeople) -> Mask:
    """(n_people,) whose taste is another one, and stands on the directions that were found."""
    return np.asarray((judged.verdict == OTHER_TASTE) & _other_taste(crowd))


def _cut(q_value: Floats, able: Mask, level: float) -> float:
    """The largest p-value that is flagged, or would be if it were the only one."""
    n_flagged, n_able = int(np.count_nonzero(q_value <= level)), int(np.count_nonzero(able))
    return level * max(n_flagged, 1) / max(n_able, 1)


def _flat(crowd: Crowd) -> Mask:
    """(n_people + 1,) whose taste only takes from the consensus: as the careless have, no other."""
    n = len(crowd.ballots.names)
    who = np.where(crowd.ballots.annotator < 0, n, crowd.ballots.annotator)
    whole = np.bincount(who, (crowd.margin + crowd.own_taste) ** 2, n + 1)
    return np.asarray(whole < _FLAT * np.bincount(who, crowd.margin**2, n + 1))


def _sidedness(crowd: Crowd) -> Floats:
    """(n_people,) p-values of a preference of at most one logit, by the likelihood ratio.

    (Whoever always chooses the left has no finite preference, and so no standard error.)
    """
    ballots, n = crowd.ballots, len(crowd.ballots.names)
    rows = np.flatnonzero((ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0))
    who, side = ballots.annotator[rows], crowd.rows.side[rows]
    known = (crowd.margin + crowd.own_taste)[rows]

    def fit(preference: Floats) -> Floats:
        each = -np.logaddexp(0.0, -known - preference[who] * side)
        return np.bincount(who, each, n).astype(np.float64)

    far = np.sign(crowd.side) * np.maximum(np.abs(crowd.side), _SIDED)
    gain = np.maximum(fit(far) - fit(np.sign(crowd.side) * _SIDED), 0.0)
    return np.asarray(2.0 * ndtr(-np.sqrt(2.0 * gain)))


def _other_taste(crowd: Crowd) -> Mask:
    """(n_people,) whose taste is another one for sure, and by much."""
    tastes, n = crowd.tastes, len(crowd.ballots.names)
    if tastes.n == 0:
        return np.zeros(n, np.bool_)
    precision = np.linalg.inv(tastes.covariance)
    far = np.einsum("na,nab,nb->n", tastes.place, precision, tastes.place)
    named = crowd.ballots.annotator >= 0
    who = crowd.ballots.annotator[named]
    own = np.bincount(who, crowd.own_taste[named] ** 2, n)
    consensus = np.bincount(who, crowd.margin[named] ** 2, n)
    material = (own >= _MATERIAL**2 * consensus) & ~_flat(crowd)[:n]
    return np.asarray((far > 2.0 * gammaincinv(tastes.n / 2.0, _APART)) & material)


def _consistency(crowd: Crowd, of: Reliability) -> Floats:
    """(n_people,) how far somebody's departures from the consensus agree with each other, in
    standard deviations of what they would by chance.
    """
    rows, chance = _departures(crowd, of)
    who, winner, loser = (
        one[rows] for one in (crowd.ballots.annotator, crowd.rows.winner, crowd.rows.loser)
    )
    n = len(crowd.ballots.names)
    own = agreement_with_oneself(who, winner, loser, chance, n, crowd.rows.n_items)
    return np.asarray(own[0] / np.sqrt(np.maximum(own[1], 1e-12)))


def _departures(crowd: Crowd, of: Reliability) -> tuple[Ints, Floats]:
    """Decided votes of people with a name, and the chance of each by how reliable people are."""
    ballots = crowd.ballots
    rows = np.flatnonzero((ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0))
    expected = of.rho[ballots.annotator[rows]] * of.typical.contrast(crowd.margin[rows])
    return rows, 0.5 + 0.5 * np.clip(expected, -0.98, 0.98)


def _sharing(crowd: Crowd, of: Reliability, suspects: Mask) -> tuple[Floats, float]:
    """(n_people,) chance that a suspect shares a taste with other suspects, and the evidence.

    Half of a suspect's votes choose a direction of the suspects' departures and the side on it;
    along it, as the *others* depart, the other half goes with a slope beta if they share it, and
    0 if they guess. With T the sum of departures along it and V the variance of that,

        log-likelihood ratio = beta T - beta^2 V / 2

    beta and the share of the suspects who share a taste are the likeliest ones.
    """
    chances, best = np.zeros(len(suspects)), 0.0
    people = np.flatnonzero(suspects)
    n, n_items = people.size, crowd.rows.n_items
    if min(n, n_items) < _FEWEST_ALIKE:
        return chances, best
    rows, chance = _departures(crowd, of)
    mine = suspects[crowd.ballots.annotator[rows]]
    rows, chance = rows[mine], chance[mine]
    who = np.searchsorted(people, crowd.ballots.annotator[rows]).astype(np.int32)
    winner, loser = crowd.rows.winner[rows], crowd.rows.loser[rows]
    departure, variance = 1.0 - chance, chance * (1.0 - chance)
    value = departure / np.sqrt(np.bincount(who, 2.0 * variance, n) + 1.0)[who]
    eighth = folds_of_votes(winner, loser, who, 8)
    whole = departures(who, winner, loser, value, n, n_items)
    itself = np.asarray(whole[who, winner] - whole[who, loser]).ravel()
    along, spread = np.zeros((_DIRECTIONS, n)), np.zeros((_DIRECTIONS, n))
    for held in _HALVES:
        seen = np.isin(eighth, held)
        test = ~seen
        some = departures(who[seen], winner[seen], loser[seen], value[seen], n, n_items)
        side = leading(some, _DIRECTIONS)[0]
        for one in range(side.shape[1]):
            items = whole.T @ side[:, one]
            apart = items[winner] - items[loser] - side[who, one] * itself
            apart *= np.sign(side[who, one]) / max(float(np.sqrt(np.mean(items**2))), 1e-12)
            along[one] += 2.0 / len(_HALVES) * np.bincount(who[test], (departure * apart)[test], n)
            spread[one] += (
                2.0 / len(_HALVES) * np.bincount(who[test], (variance * apart**2)[test], n)
            )
    for one in range(_DIRECTIONS):
        for beta in _SLOPES:
            ratio = np.clip(beta * along[one] - 0.5 * beta**2 * spread[one], -50.0, 50.0)
            share = 0.5
            for _ in range(30):
                alike = share * np.exp(ratio) / (share * np.exp(ratio) + 1.0 - share)
                share = float(alike.mean())
            evidence = float(np.log(share * np.exp(ratio) + 1.0 - share).sum())
            if evidence > best:
                best = evidence
                chances[people] = alike
    return chances, best


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
    table: pd.DataFrame, crowd: Crowd, judged: JudgedPeople, n_decided: Floats, n_shown: Floats
) -> list[str]:
    """One sentence for each person, with the numbers that led to the verdict."""
    agreement, expected, left, seconds = (
        table[name].to_numpy(np.float64) for name in ("agreement", "expected", "left", "seconds")
    )
    usual_left = float(np.nansum(left * n_shown)) / max(float(n_shown.sum()), 1.0)
    error = np.sqrt(max(usual_left * (1.0 - usual_left), 1e-4) / np.maximum(n_shown, 1.0))
    odd_side = np.abs(left - usual_left) > _ODD_SIDE * error
    timed = seconds[~np.isnan(seconds)]
    usual_time = float(np.median(timed)) if timed.size > 0 else np.nan
    hasty = seconds < _HASTY * usual_time
    size = np.bincount(crowd.group)
    endings = {
        CARELESS: message("guessing_gives_half"),
        OTHER_TASTE: message("differs_consistently"),
        TOO_FEW: message("too_few_to_stand_out"),
    }

    def sentence(person: int) -> str:
        n = int(n_decided[person])
        if n == 0:
            return message("no_decided_votes")
        agrees, verdict = agreement[person], int(judged.verdict[person])
        said = [message("agrees_on", agreement=agrees, n_decided=n, expected=expected[person])]
        if verdict == REVERSED_PERSON:
            said.append(message("turned_around", agreement=1.0 - agrees))
        elif verdict == COORDINATED:
            others = int(size[crowd.group[person]]) - 1
            said.append(message("acts_together", n_others=others))
        elif verdict in endings:
            said.append(endings[verdict])
        if odd_side[person] or verdict == ONE_SIDED:
            said.append(message("one_sided", left=left[person]))
        if hasty[person]:
            said.append(message("hasty", seconds=seconds[person], usual=usual_time))
        if judged.borderline[person]:
            said.append(message("borderline"))
        return "; ".join(said)

    return [sentence(person) for person in range(len(table))]
