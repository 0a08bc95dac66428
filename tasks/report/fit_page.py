"""The page that `urlr fit` writes: that of an attribute, without a night."""

from __future__ import annotations

import pandas as pd

from tasks.evaluate import VoteTau
from tasks.gather import moments
from tasks.judging import judged_by
from tasks.messages import message
from tasks.report.attribute_page import PageHead, single_page
from tasks.report.data import Interval
from tasks.report.evidence import Fitted, page_of
from tasks.split import split_votes
from urlr import Ranker, UrlrError

_LEVEL = 0.95


def fit_page(ranker: Ranker, features: pd.DataFrame | None, *, name: str) -> dict[str, bytes]:
    """The files of the page, `report.html` first.

    Some pairs, and some items where features are known, are held out once more: what the page says
    of votes that a ranking has not seen rests on a fit without them.
    """
    if ranker.evidence is None:
        raise UrlrError(message("no_votes_to_report"))
    votes = ranker.evidence.votes
    split = split_votes(votes, by_items=features is not None)
    judgement = judged_by(split, features, ranker.settings, level=_LEVEL)
    fitted = Fitted(
        attribute=name,
        votes=votes,
        features=features,
        split=split,
        ranker=ranker,
        judge=judgement.judge,
        verdicts=ranker.verdicts,
        rows=votes.counts,
        reasons=votes.reasons,
        unjudged=judgement.unjudged,
        methods=judgement.methods,
        times=moments(votes.frame["time"]) if "time" in votes.frame else None,
    )
    return single_page(page_of(fitted), _head(judgement.tau))


def _head(tau: VoteTau | None) -> PageHead:
    found = None if tau is None else tau.shown
    if tau is None or found is None:
        return PageHead()
    interval = Interval(found.value, found.low, found.high)
    return PageHead(tau=interval, n_judged=tau.n_votes, level=tau.level)
