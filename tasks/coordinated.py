"""Groups that act together in a fit: how many people and votes, and what became of the votes.

Told from what is measured, not from what was asked for: a vote is set aside if the fit says of that
very vote that it counts in no way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.messages import message
from tasks.report.data import Group
from urlr import Ranker
from urlr.people.verdicts import COORDINATED, VERDICTS
from urlr.sentence import Sentence
from urlr.settings import Coordination
from urlr.verdicts import LinkEvidence


@dataclass(frozen=True, slots=True)
class Coordinated:
    """People of an attribute who act together."""

    groups: int
    people: int
    votes: int
    """That they cast."""
    counting: int
    """Those of them that count in the ranking, be it as those of one person."""
    coordination: Coordination
    """What was to become of them; the paper's method keeps all."""

    @property
    def is_left_in(self) -> bool:
        """Whether votes count that were to be set aside."""
        return self.coordination == "drop" and self.counting > 0


def coordinated_in(ranker: Ranker, groups: Sequence[Group]) -> Coordinated | None:
    """Who acts together; None if nobody does.

    `groups` are those of the page. With the paper's method, which knows nobody, they are all that
    is known, and their votes count.
    """
    facts, evidence = ranker.facts, ranker.evidence
    if ranker.people is None or not isinstance(evidence, LinkEvidence):
        votes = sum(one.n_votes for one in groups)
        people = sum(len(one.people) for one in groups)
        return Coordinated(len(groups), people, votes, votes, "keep") if groups else None
    table = ranker.people
    named = pd.Index(table["annotator"][(table["verdict"] == VERDICTS[COORDINATED]).to_numpy()])
    ballots = evidence.ballots
    theirs = np.append(ballots.names.isin(named), False)[ballots.annotator]
    aside = int(np.count_nonzero(theirs & evidence.set_aside))
    people = max(facts.n_together, len(named))
    if people == 0:
        return None
    votes = max(facts.n_together_votes, int(np.count_nonzero(theirs)))
    coordination = ranker.settings.coordination
    return Coordinated(max(facts.n_groups, 1), people, votes, votes - aside, coordination)


def words_of(found: Coordinated) -> Sentence:
    """How many people act together, and what became of their votes."""
    if found.is_left_in:
        return message(
            "coordinated_votes_left_in",
            people=found.people,
            groups=found.groups,
            votes=found.votes,
            counting=found.counting,
        )
    if found.coordination == "drop":
        return message(
            "coordinated_votes_set_aside",
            people=found.people,
            groups=found.groups,
            votes=found.votes,
        )
    if found.coordination == "once":
        return message(
            "coordinated_votes_count_once",
            people=found.people,
            groups=found.groups,
            votes=found.votes,
        )
    return message(
        "coordinated_votes_count", people=found.people, groups=found.groups, votes=found.votes
    )
