"""Groups that act together, told from people who share a taste.

Both depart from the consensus in common. People of one taste are as noisy among themselves as
everybody is; people who push the same items on purpose are not: where the ranking made from the
*other* members' votes has a clear opinion that the crowd does not share, a member goes against it
hardly ever. For each member, n such votes with k against compare

    of one taste:     k of n at a rate near that of the rest of the crowd, the careless apart,
                      whose votes are counted in the same way
    acting together:  at a third of that rate, a sixth, or hardly ever

for the whole group, whose rate may be its own: careful people of one taste may slip less than the
crowd does. In a crowd that hardly slips this says little; then, and besides, it counts whether they
vote on the items that they push more than others do, fast, and all at once (`_beside`). A group
acts together if the log-likelihood ratio is above 3, which by the first test alone happens to a
group of one taste once in 20 times at most (Markov's inequality). Half of the votes suggest a group
and who belongs to it, the other half try it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse, special

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit
from urlr.people.directions import departures, fingerprints, folds_of_votes, leading

FEWEST_ITEMS = 10
"""With fewer, pushing an item and liking it are the same thing: votes alone accuse nobody."""
FEWEST_VOTES = 5
_EVIDENCE = 3.0
_USUAL = 2.0
_NEVER = (0.5, 166.0)
"""Beta distribution of how often they slip who hardly ever do: a fixed rate, however small, would
speak against people who never slip on thousands of votes."""
_WORTH, _LEAST, _MOST = 20.0, 0.01, 0.3
"""What is known of how often honest people slip is worth so many votes; least and most of it."""
_SIZES = (0.75, 1.0, 1.5, 2.0, 3.0)
"""Opinions are told apart by how clear they are."""
_CLEAR, _APART = 0.5, 1.5
"""The others of the group have an opinion of so many log-odds, so far from the consensus."""
_FOLDS = 5
_TOLERANCE = 1e-2
_DIRECTIONS = 3
_ALONE = Penalties(1.0, 0.5, np.inf)
"""Of rankings by the votes of some people alone."""
_STAYS, _AS_ONE, _HARDLY = -0.5, -1.0, 0.02
"""A member, and a group, goes against the others no oftener than this log-likelihood ratio says; a
member may do so in one vote of fifty, whatever others do."""
_ON_FEW_ITEMS, _FAST, _AT_ONCE = 4.0, 1.0, 1.0
"""What it adds to the ratio if a group votes on a few items more than others do; is twice as fast;
votes within a span that has few of the others' votes. By judgement: how much likelier a group that
pushes does so than one that differs."""
_PART, _OFTENER, _SURELY, _FEW, _KNOWN = 5, 1.5, 10.0, 5.0, 20
"""The few items are the fifth on which the group is most of one mind; half again as often, and
surely."""
_SEEDS = 8
"""People who are looked at beside those most like them."""
_FAR = 2.0
"""Robust deviations along a direction of departures from which on somebody may be a member."""


@dataclass(frozen=True)
class Departures:
    """Decided votes of people with a name, and what is expected of each."""

    rows: Comparisons
    """As they are read; with features, offsets and all."""
    person: Codes
    n_people: int
    judging: Floats
    """(n_rows,) weight by which the consensus is fitted; 0 for groups already found."""
    say: Floats
    """(n_rows,) the same without how reliable people are."""
    weight: Floats
    """(n_rows,) of the vote itself: how many it stands for."""
    expected: Floats
    """(n_rows,) chance of the vote, by a fit without the person."""
    decided: Mask
    penalties: Penalties
    fit: LogisticFit
    error_rate: Floats
    """(n_people,)"""
    able: Mask
    """(n_people,) who may be a member."""
    seconds: Floats | None = None
    """(n_rows,) how long the vote took, NaN unknown."""
    moments: Floats | None = None
    """(n_rows,) when it was cast, in days, NaN unknown."""

    @cached_property
    def alone(self) -> Comparisons:
        """The votes without all that is known beside them."""
        rows = self.rows
        nothing = np.zeros((rows.n_items, 0))
        return replace(rows, features=nothing, offset=None, side=np.zeros(rows.n_rows))

    @cached_property
    def alone_fit(self) -> LogisticFit:
        """To these, for others to start from."""
        return logistic_fit(self.alone, self.judging, _ALONE, tolerance=_TOLERANCE)

    @cached_property
    def mark(self) -> Ints:
        """(n_people,) number that says who is who whatever they are called."""
        mark = np.zeros(self.n_people, np.int64)
        known = fingerprints(self.rows.winner, self.rows.loser, self.person, self.decided)[1][:-1]
        mark[: known.size] = known
        return mark

    @cached_property
    def kept_back(self) -> Mask:
        """(n_rows,) the half of the votes that tests a group that the other half suggests.

        Who is looked at because of some votes cannot be tried by these.
        """
        rows = self.rows
        return np.asarray(
            folds_of_votes(rows.winner, rows.loser, self.person, 2, self.decided) == 1
        )

    @cached_property
    def count(self) -> Floats:
        """(n_people,) weight of the decided votes."""
        who, each = self.person[self.decided], self.weight[self.decided]
        return np.bincount(who, each, self.n_people).astype(np.float64)


def acting_together(votes: Departures) -> tuple[Mask, float]:
    """(n_people,) the group with most evidence, and that; nobody and 0 if there is too little."""
    best, found = 0.0, np.zeros(votes.n_people, np.bool_)
    if votes.rows.n_items < FEWEST_ITEMS:
        return found, best
    for group in _candidates(votes):
        crowd = _opinions(votes, group)
        sight = _sight(votes, group)
        for _ in range(_FOLDS):
            stays = group & _told(votes, sight, crowd, ~votes.kept_back).goes_along
            if np.count_nonzero(stays) < 2 or np.array_equal(stays, group):
                break
            group, sight = stays, _sight(votes, stays)
        told = _told(votes, sight, crowd, votes.kept_back)
        worth, beside = _WORTH * np.count_nonzero(group) ** 0.5, 0.0
        total = float(_ratio(told.together(group), worth)[0])
        if told.together(group).n[0] >= FEWEST_VOTES and total > _AS_ONE:
            beside = _beside(votes, group)
            total += beside
        if np.count_nonzero(group) > 1 and total > max(best, _EVIDENCE):
            alike = replace(sight, usual=_slips_of_the_alike(votes, group, np.abs(sight.inside)))
            told = _told(votes, alike, crowd, votes.kept_back).together(group)
            total = min(total, float(_ratio(told, worth)[0]) + beside)
            if total > max(best, _EVIDENCE):
                best, found = total, group
    if found.any():
        # Whoever goes along with them on such votes as they do is one of them.
        whole = np.ones(votes.rows.n_rows, np.bool_)
        sight = _sight(votes, found, everybody=True)
        told = _told(votes, sight, _opinions(votes, found), whole)
        more = found | (votes.able & (told.n >= _KNOWN) & told.goes_along)
        if 2 * np.count_nonzero(more) < np.count_nonzero(votes.able):
            found = more
    return found, best


@dataclass(frozen=True, slots=True)
class _Told:
    """Votes on which the others of a group have an opinion that the crowd does not share."""

    n: Floats
    """(n_people,)"""
    against: Floats
    """(n_people,) those that go against it."""
    expected: Floats
    """(n_people,) those that people of one taste would cast against it."""

    @property
    def goes_along(self) -> Mask:
        """(n_people,) who goes against it no oftener than a member does."""
        return (_ratio(self) >= _STAYS) | (self.against < _HARDLY * self.n)

    def together(self, group: Mask) -> _Told:
        """Return the sums over a group, as of one person."""
        n, against, expected = (
            one[group].sum(keepdims=True) for one in (self.n, self.against, self.expected)
        )
        return _Told(n, against, expected)


def _departures_of(votes: Departures) -> sparse.csr_array:
    """(n_people, n_items) departures of the votes that suggest groups, of like size by chance."""
    rows = np.flatnonzero(votes.decided & votes.able[votes.person] & ~votes.kept_back)
    who, first, second = votes.person[rows], votes.rows.winner[rows], votes.rows.loser[rows]
    chance, weight, n = votes.expected[rows], votes.weight[rows], votes.n_people
    variance = np.bincount(who, 2.0 * weight * chance * (1.0 - chance), n)
    value = weight * (1.0 - chance) / np.sqrt(variance + 1.0)[who]
    return departures(who, first, second, value, n, votes.rows.n_items)


def _candidates(votes: Departures) -> Iterator[Mask]:
    """Sets of people that stand apart on the leading directions of people x items departures."""
    able = votes.able
    if np.count_nonzero(able) < 2 * _DIRECTIONS:
        return
    table = _departures_of(votes)
    people = leading(table, _DIRECTIONS)[0]
    own = np.asarray(table.multiply(table).sum(axis=1)).ravel()
    seen = set()
    for one in range(people.shape[1]):
        # Everybody's projection on the items' side made without their own votes.
        along = table @ (table.T @ people[:, one]) - own * people[:, one]
        for group in _apart(along, able):
            if group.tobytes() not in seen:
                seen.add(group.tobytes())
                yield group


def _apart(along: Floats, able: Mask) -> Iterator[Mask]:
    """Those far to either side, and the smaller of two clusters; fewer than half of the people."""
    centre = float(np.median(along[able]))
    spread = 1.4826 * float(np.median(np.abs(along[able] - centre)))
    ends = np.array([along[able].min(), along[able].max()])
    for _ in range(20):
        upper = able & (np.abs(along - ends[1]) < np.abs(along - ends[0]))
        lower = able & ~upper
        if not upper.any() or not lower.any():
            break
        ends = np.array([along[lower].mean(), along[upper].mean()])
    beyond = [able & (sign * (along - centre) > _FAR * spread) for sign in (1.0, -1.0)]
    for group in (*beyond, upper, lower):
        if 2 <= np.count_nonzero(group) < 0.5 * np.count_nonzero(able):
            yield group


def _beside(votes: Departures, group: Mask) -> float:
    """What else speaks for acting together: the items they vote on, the time they take, and when.

    People of one taste are shown what everybody is shown; people who push vote on what they push,
    often fast, and often all at once.
    """
    rows, decided = votes.rows, votes.decided
    mine = np.append(group, False)[votes.person]
    n = rows.n_items

    def ends(which: Mask, sign: float = 1.0) -> Floats:
        won = np.bincount(rows.winner[which], minlength=n)
        return np.asarray(won + sign * np.bincount(rows.loser[which], minlength=n), np.float64)

    first = decided & mine & ~votes.kept_back
    leaning = np.abs(ends(first, -1.0)) / (ends(first) + _FEW)
    mark = np.zeros(n, np.int64)
    known = fingerprints(rows.winner, rows.loser, votes.person, votes.decided)[0]
    mark[: known.size] = known
    pushed = np.lexsort((mark, -leaning))[: max(n // _PART, 1)]
    seen, usual = ends(decided & mine & votes.kept_back), ends(decided & ~mine)
    found = 0.0
    if seen.sum() and usual.sum():
        share, expected = seen[pushed].sum() / seen.sum(), usual[pushed].sum() / usual.sum()
        more = share * np.log(share / max(expected, 1e-9)) if share > 0 else 0.0
        more += (1.0 - share) * np.log(max(1.0 - share, 1e-9) / max(1.0 - expected, 1e-9))
        if share >= _OFTENER * expected and seen.sum() * more > _SURELY:
            found += _ON_FEW_ITEMS
    if votes.seconds is not None:
        own, others = votes.seconds[decided & mine], votes.seconds[decided & ~mine]
        if min(np.isfinite(own).sum(), np.isfinite(others).sum()) >= _KNOWN:
            found += _FAST * bool(np.nanmedian(own) < 0.5 * np.nanmedian(others))
    if votes.moments is not None:
        own, others = votes.moments[decided & mine], votes.moments[decided & ~mine]
        own, others = own[np.isfinite(own)], others[np.isfinite(others)]
        if min(own.size, others.size) >= _KNOWN:
            start, end = np.quantile(own, [0.05, 0.95])
            found += _AT_ONCE * bool(np.mean((others >= start) & (others <= end)) < 0.1)
    return found


def _opinions(votes: Departures, group: Mask) -> tuple[Floats, Floats]:
    """(n_rows,) margins of the consensus, and of a ranking by votes alone, without the group."""
    rows, alone = votes.rows, votes.alone
    others = votes.judging * ~np.append(group, False)[votes.person]
    fitted = logistic_fit(rows, others, votes.penalties, start=votes.fit, tolerance=_TOLERANCE)
    by_votes = logistic_fit(alone, others, _ALONE, start=votes.alone_fit, tolerance=_TOLERANCE)
    return rows.margins(fitted.scores(rows.features)), alone.margins(by_votes.effects)


@dataclass(frozen=True, slots=True)
class _Sight:
    """Votes of the members, or of everybody, as the (other) members see them."""

    mine: Ints
    """(n_mine,) the votes."""
    inside: Floats
    """(n_mine,) margins by the (other) members' votes."""
    usual: Floats
    """(n_mine,) how often people of one taste go against an opinion as clear."""


def _sight(votes: Departures, group: Mask, *, everybody: bool = False) -> _Sight:
    mine, inside = _by_each_other(votes, group)
    if everybody:
        alone, whole = votes.alone, np.flatnonzero(votes.decided)
        said = np.zeros(votes.rows.n_rows)
        said[mine] = votes.say[mine]
        of_group = alone.margins(logistic_fit(alone, said, _ALONE, tolerance=_TOLERANCE).effects)
        of_group[mine] = inside
        mine, inside = whole, of_group[whole]
    return _Sight(mine, inside, _usual_slips(votes, group, np.abs(inside)))


def _told(votes: Departures, sight: _Sight, crowd: tuple[Floats, Floats], among: Mask) -> _Told:
    """Some of the votes beside the opinion of the (other) members."""
    inside, mine = sight.inside, sight.mine
    shared = np.maximum(*(np.sign(inside) * one[mine] for one in crowd))
    told = among[mine] & (np.abs(inside) > _CLEAR) & (np.abs(inside) - shared > _APART)
    who, weight = votes.person[mine][told], votes.weight[mine][told]

    def of_people(per_row: Floats | Mask) -> Floats:
        return np.bincount(who, weight * per_row[told], votes.n_people).astype(np.float64)

    return _Told(of_people(told), of_people(inside < 0), of_people(sight.usual))


def _ratio(told: _Told, worth: float = _WORTH) -> Floats:
    """Log-likelihood ratio of acting together to sharing a taste."""
    n, against = told.n, told.against
    usual = np.clip(told.expected / np.maximum(n, 1.0), _LEAST, _MOST)

    def drawn(a: Floats | float, b: Floats | float) -> Floats:
        return np.asarray(special.betaln(a + against, b + n - against) - special.betaln(a, b))

    at_rates = [
        against * np.log(rate) + (n - against) * np.log1p(-rate)
        for rate in (usual / 6.0, usual / 3.0)
    ]
    together = special.logsumexp([drawn(*_NEVER), *at_rates], axis=0) - np.log(3.0)
    alike = drawn(worth * usual, worth * (1.0 - usual))
    return np.where(n > 0, together - alike, 0.0)


def _by_each_other(votes: Departures, group: Mask) -> tuple[Ints, Floats]:
    """Members' votes, and their margins by a ranking from the other members'."""
    mine = np.flatnonzero(votes.decided & np.append(group, False)[votes.person])
    rows, say = votes.alone.taken(mine), votes.say[mine]
    members = np.flatnonzero(group)
    members = members[np.argsort(votes.mark[members], kind="stable")]
    n_folds = min(members.size, _FOLDS)
    fold_of = np.full(votes.n_people + 1, -1)
    fold_of[members] = np.arange(members.size) % n_folds
    fold = fold_of[votes.person[mine]]
    margin, start = np.zeros(mine.size), None
    for held in range(n_folds):
        others = np.where(fold == held, 0.0, say)
        if others.any():
            start = logistic_fit(rows, others, _ALONE, start=start, tolerance=_TOLERANCE)
            margin = np.where(fold == held, rows.margins(start.effects), margin)
    return mine, margin


def _slips_of_the_alike(votes: Departures, group: Mask, opinion: Floats) -> Floats:
    """(n_opinions,) how often people outside the group go against those most like them.

    A crowd of several tastes is of no mind as a whole, however careful its people are. So some
    people are each seen beside those who depart from the consensus as they do, as many as have cast
    as many votes as the group; the middle half of them counts.
    """
    others = np.flatnonzero(votes.able & ~group)
    seeds = others[np.argsort(-votes.count[others], kind="stable")]
    seeds = seeds[np.unique(np.linspace(0, seeds.size - 1, _SEEDS).round().astype(np.int64))]
    table = _departures_of(votes)
    enough = float(votes.count[group].sum())
    found = []
    for seed in seeds:
        like = np.asarray((table @ table[[seed]].T).todense()).ravel()
        like[seed] = np.inf
        nearest = others[np.argsort(-like[others], kind="stable")]
        size = int(np.searchsorted(np.cumsum(votes.count[nearest]), enough)) + 1
        people = np.zeros(votes.n_people, np.bool_)
        people[nearest[: max(size, 2)]] = True
        found.append(_slips(votes, people, votes.kept_back))
    rates = np.array([against.sum() / max(n.sum(), 1.0) for n, against in found])
    order = np.argsort(rates, kind="stable")
    middle = order[order.size // 4 : max(order.size - order.size // 4, 1)]
    n, against = (sum(found[one][part] for one in middle) for part in (0, 1))
    return _by_clarity(n, against, opinion)


def _slips(votes: Departures, people: Mask, among: Mask | None = None) -> tuple[Floats, Floats]:
    """Votes of people, by how clear an opinion of the others among them is; those against it."""
    mine, inside = _by_each_other(votes, people)
    seen = inside != 0
    if among is not None:
        seen &= among[mine]
    size, weight = np.digitize(np.abs(inside[seen]), _SIZES), votes.weight[mine][seen]
    n = np.bincount(size, weight, len(_SIZES) + 1).astype(np.float64)
    against = np.bincount(size, weight * (inside[seen] < 0), len(_SIZES) + 1)
    return n, against.astype(np.float64)


def _by_clarity(n: Floats, against: Floats, opinion: Floats) -> Floats:
    """Share of votes against opinions as clear; 1 in 10 where nothing is known, as of ten votes."""
    return np.asarray(((against + 1.0) / (n + 10.0))[np.digitize(opinion, _SIZES)])


def _usual_slips(votes: Departures, group: Mask, opinion: Floats) -> Floats:
    """(n_opinions,) how often people outside the group go against opinions of each other as clear.

    Of those who are wrong at most twice as often as people in the middle, as many as have cast as
    many votes, those with most votes first.
    """
    count = votes.count
    among = votes.able & ~group
    if among.any():
        among &= votes.error_rate <= _USUAL * np.median(votes.error_rate[among])
    others = np.flatnonzero(among)
    others = others[np.lexsort((votes.mark[others], -count[others]))]
    enough = int(np.searchsorted(np.cumsum(count[others]), count[group].sum())) + 1
    crowd = np.zeros(votes.n_people, np.bool_)
    crowd[others[: max(enough, 2)]] = True
    return _by_clarity(*_slips(votes, crowd), opinion)
