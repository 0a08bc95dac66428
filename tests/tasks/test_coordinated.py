"""People who act together: what a night says of them, and the model the gate holds for them."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from nights import entry, night
from registries import MLFLOW_WARNS, NIGHT
from scipy.special import expit
from stored_votes import QUICK, order_of, put, simulated, stored

import urlr
from tasks.coordinated import Coordinated, coordinated_in, words_of
from tasks.messages import message
from tasks.publish import Desk, metrics_of, publish
from tasks.report.data import Group
from tasks.report.page_file import PAGE, PAGES
from tasks.results import NIGHTS, RESULTS, Entry, Order, Trained
from tasks.store import Store
from tasks.train import train
from urlr import Ranker
from urlr.settings import FitSettings

pytestmark = MLFLOW_WARNS

N_EACH = 330
GROUP = ("x0", "x1", "x2")
FOUND = Coordinated(1, len(GROUP), N_EACH * len(GROUP), 0, "drop")


@pytest.fixture(scope="module")
def votes() -> pd.DataFrame:
    """4,000 votes of 40 people who often see it otherwise, and of three who push six items."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=60)
    items = np.array([f"i{k:02d}" for k in range(truth.size)])
    first = rng.integers(truth.size, size=4000)
    second = (first + rng.integers(1, truth.size, first.size)) % truth.size
    won = rng.random(first.size) < expit(1.2 * (truth[first] - truth[second]))
    up, down, rest = np.split(rng.permutation(items), [6, 12])
    n = N_EACH * len(GROUP)
    lifted = rng.random(n) < 0.5
    honest = {
        "winner": items[np.where(won, first, second)],
        "loser": items[np.where(won, second, first)],
        "annotator": rng.choice([f"p{k:02d}" for k in range(40)], first.size),
    }
    pushed = {
        "winner": np.where(lifted, rng.choice(up, n), rng.choice(rest, n)),
        "loser": np.where(lifted, rng.choice(rest, n), rng.choice(down, n)),
        "annotator": np.repeat(GROUP, N_EACH),
    }
    votes = pd.concat([pd.DataFrame(honest), pd.DataFrame(pushed)])
    return votes.sample(frac=1.0, random_state=0, ignore_index=True)


@pytest.fixture(scope="module")
def ranker(votes) -> Ranker:
    return urlr.fit(votes, replicates=0)


@pytest.fixture(scope="module", params=["drop", "once", "keep"])
def work(request, votes, tmp_path_factory) -> tuple[Order, Trained]:
    """Results of a first night, by what is to become of the group's votes."""
    store = Store.at(tmp_path_factory.mktemp(request.param))
    put(store, "votes/smiling/1.csv", votes)
    order = order_of(store, fit=replace(QUICK, coordination=request.param))
    return order, train(order)


@pytest.fixture
def taken(registry, verifier, attribute):
    """Takes results to the gate under a name of the test's own."""

    def published(work: tuple[Order, Trained], *, force: bool = False, **other: Any) -> Entry:
        order, trained = work
        order = replace(order, inputs=replace(order.inputs, attribute=attribute))
        result = replace(trained.result, attribute=attribute, **other)
        desk = Desk(registry, verifier, "run", NIGHT, lambda: None, force=force)
        return publish(replace(trained, result=result), order, desk)

    return published


def test_a_group_is_counted_with_what_became_of_its_votes(work):
    order, trained = work
    found = trained.result.coordinated
    counting = 0 if order.fit.coordination == "drop" else found.counting
    assert found == replace(FOUND, counting=counting, coordination=order.fit.coordination)
    assert (found.counting > 0) == (order.fit.coordination != "drop")
    assert trained.result.flagged["coordinated"] == len(GROUP)
    page = PAGES.from_bytes(order.store.read(f"{trained.result.place}/{PAGE}"), PAGE)
    assert page.concentration.what == words_of(found)
    measured = metrics_of(trained)
    assert measured["coordinated_people"] == len(GROUP)
    assert measured["coordinated_votes"] == found.votes
    assert measured["people_not_to_trust"] == sum(trained.result.flagged.values())


def test_a_model_whose_group_counts_by_choice_is_published_with_a_warning(work, taken, registry):
    entry = taken(work)
    found = work[1].result.coordinated
    assert (entry.outcome, entry.coordinated) == ("published", found)
    warned = entry.reason.endswith(message("with_warning", finding="", warning=words_of(found)))
    assert warned == (found.coordination != "drop")
    [move] = registry.history(entry.attribute)
    assert move.why == entry.reason
    said = {"drop": "set_aside", "once": "count_once", "keep": "count"}[found.coordination]
    assert words_of(found).code == f"coordinated_votes_{said}"


def test_a_first_model_is_held_where_votes_count_that_were_to_be_set_aside(taken, work):
    left_in = replace(FOUND, counting=7)
    entry = taken(work, coordinated=left_in)
    assert (entry.outcome, entry.reason.code) == ("held", "coordinated_votes_left_in")
    assert entry.reason == message("held", finding=words_of(left_in))
    assert entry.reason.fields["counting"] == 7
    forced = taken(work, force=True, coordinated=left_in)
    assert forced.outcome == "published"
    assert forced.reason == message("forced", finding=entry.reason)


def test_what_counts_is_told_by_the_votes_not_by_the_setting(ranker):
    assert coordinated_in(ranker, ()) == FOUND
    evidence = replace(ranker.evidence, set_aside=np.zeros_like(ranker.evidence.set_aside))
    assert coordinated_in(replace(ranker, evidence=evidence), ()) == replace(
        FOUND, counting=FOUND.votes
    )
    some = ranker.evidence.set_aside.copy()
    some[np.flatnonzero(ranker.evidence.crowd.apart)[:5]] = False
    few = coordinated_in(replace(ranker, evidence=replace(ranker.evidence, set_aside=some)), ())
    assert (few.counting, few.is_left_in) == (5, True)


def test_a_group_that_is_found_and_not_accused_counts(ranker):
    """The facts know of a group, and nobody's votes are known to be set aside for it."""
    fine = ranker.people.assign(verdict="fine")
    assert coordinated_in(replace(ranker, people=fine), ()).is_left_in


def test_where_nobody_acts_together_nothing_is_said():
    made = simulated()
    assert coordinated_in(urlr.fit(made.votes, replicates=0), ()) is None


def test_the_paper_sets_nobody_aside():
    made = simulated()
    ranker = urlr.fit(made.votes, method="paper", prune=0.1)
    assert coordinated_in(ranker, ()) is None
    group = Group((1, 4), 90, 0.9, 0.2, (0,), (), "two of them")
    assert coordinated_in(ranker, (group,)) == Coordinated(1, 2, 90, 90, "keep")


def test_records_of_an_older_urlr_are_read(tmp_path):
    store = Store.at(tmp_path)
    stored(store)
    result = train(order_of(store, fit=replace(FitSettings(), replicates=0))).result
    for records, one in ((RESULTS, result), (NIGHTS, night(entry("a", coordinated=FOUND)))):
        plain = json.loads(records.to_bytes(one))
        for part in (plain, *plain.get("entries", {}).values()):
            part.pop("coordinated", None)
        again = records.from_bytes(json.dumps(plain).encode(), "here")
        assert getattr(again, "entries", {"a": again})["a"].coordinated is None
    assert (
        NIGHTS.from_bytes(NIGHTS.to_bytes(night(entry("a", coordinated=FOUND))), "here")
        .entries["a"]
        .coordinated
        == FOUND
    )
