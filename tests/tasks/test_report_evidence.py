"""What the page of an attribute is made of, held against the fit it comes from."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tasks.judging import judged_by
from tasks.messages import message
from tasks.report import columns
from tasks.report.columns import left_share, listed_votes
from tasks.report.data import AttributePage
from tasks.report.earlier import Earlier
from tasks.report.evidence import Fitted, page_of
from tasks.report.fit_page import fit_page
from tasks.split import split_votes
from urlr import FitSettings, fit, vote_table
from urlr.diagnostics.aside_order import aside_order
from urlr.metrics import held_out_agreement, tau_b
from urlr.simulate import AnnotatorShares
from urlr.simulate import crowd as simulated


def crowd(seed: int = 0, n_votes: int = 900) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Votes of ten people, two of whom guess, on forty items with features and addresses."""
    rng = np.random.default_rng(seed)
    items = [f"item-{k:02}" for k in range(40)]
    quality = rng.normal(size=40)
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(n_votes)])
    who = rng.integers(10, size=n_votes)
    chance = 1 / (1 + np.exp(-3 * (quality[pairs[:, 0]] - quality[pairs[:, 1]])))
    first = rng.random(n_votes) < np.where(who < 2, 0.5, chance)
    votes = pd.DataFrame(
        {
            "item_a": np.array(items)[pairs[:, 0]],
            "item_b": np.array(items)[pairs[:, 1]],
            "outcome": np.where(first, "a", "b"),
            "annotator": [f"person-{k}" for k in who],
            "left": np.where(rng.random(n_votes) < 0.5, "a", "b"),
            "time": pd.Timestamp("2026-11-01", tz="UTC") + pd.to_timedelta(np.arange(n_votes), "h"),
        }
    )
    features = pd.DataFrame({"item": items, "x": quality + rng.normal(scale=0.3, size=40)})
    features["url"] = [f"pictures/{item}.png" for item in items]
    return votes, features


def fitted(
    votes: pd.DataFrame, features: pd.DataFrame | None, before: Earlier | None = None, **chosen
) -> Fitted:
    settings = FitSettings(**{"replicates": 20} | chosen)
    if settings.method == "paper":
        settings = FitSettings(**chosen)
    ranker = fit(votes, features, **{name: getattr(settings, name) for name in settings.__slots__})
    table = ranker.evidence.votes
    split = split_votes(table, by_items=features is not None)
    judgement = judged_by(split, features, settings, level=0.95)
    return Fitted(
        attribute="pictures",
        votes=table,
        features=features,
        split=split,
        ranker=ranker,
        judge=judgement.judge,
        verdicts=ranker.verdicts,
        rows=table.counts,
        reasons=table.reasons,
        unjudged=judgement.unjudged,
        methods=judgement.methods,
        times=votes["time"],
        before=before,
    )


@pytest.fixture(scope="module")
def made() -> tuple[Fitted, AttributePage]:
    one = fitted(*crowd())
    return one, page_of(one)


def test_all_pruned_votes_are_listed_most_suspicious_first(made):
    one, page = made
    counted = one.verdicts[one.verdicts["pruned"]]
    assert sum(page.votes.pruned) == len(counted) == page.n_pruned > 0
    assert page.n_listed == len(page.votes.row) >= len(one.verdicts) // 2
    suspicion = [value for value in page.votes.suspicion if value is not None]
    assert suspicion == sorted(suspicion, reverse=True)


def test_positions_lead_back_to_the_votes_own_names(made):
    one, page = made
    listed = listed_votes(one.verdicts, aside_order(one.ranker)).votes
    assert [page.items.name[k] for k in page.votes.winner] == listed["winner"].tolist()
    assert [page.items.name[k] for k in page.votes.loser] == listed["loser"].tolist()
    assert [page.people.name[k] for k in page.votes.person] == listed["annotator"].tolist()


def test_every_pruned_vote_says_why_and_no_other_does(made):
    _, page = made
    said = [why is not None for why in page.votes.why]
    assert [one for one, pruned in zip(said, page.votes.pruned, strict=True) if not pruned] == (
        [False] * (len(said) - page.n_pruned)
    )
    assert sum(said) > page.n_pruned / 2


def test_the_ranking_has_addresses_by_item(made):
    _, page = made
    assert page.items.url == tuple(f"pictures/{name}.png" for name in page.items.name)


@pytest.fixture(
    scope="module",
    params=[{}, {"prune": 0.1}, {"method": "paper", "prune": 0.2}],
    ids=["auto", "a share", "paper"],
)
def turned(request) -> tuple[Fitted, AttributePage]:
    """A crowd with reversed people, whom the default reads the other way round."""
    made = simulated(
        rng=np.random.default_rng(3),
        n_items=25,
        n_features=3,
        n_votes=3000,
        n_annotators=30,
        shares=AnnotatorShares(careless=0.1, reversed=0.15),
        ties=0.02,
    )
    time = pd.Timestamp("2026-11-01", tz="UTC") + pd.to_timedelta(np.arange(3000), "min")
    one = fitted(made.votes.assign(time=time), made.features.reset_index(), **request.param)
    return one, page_of(one)


def test_the_explorer_marks_the_share_that_the_fit_chose(turned):
    one, page = turned
    facts, explorer = one.ranker.facts, page.explorer
    assert explorer.chosen == facts.rate
    assert explorer.of_edges == (one.ranker.settings.method == "paper")
    if not explorer.of_edges:
        assert facts.n_turned_votes > 100
        n_counted = page.rows["used"] + page.rows["ties"]
        assert explorer.chosen == pytest.approx(
            (facts.n_pruned_votes - facts.n_turned_votes) / n_counted
        )
    assert list(explorer.n_pruned) == sorted(explorer.n_pruned)
    assert explorer.n_pruned[0] == 0


def test_votes_listed_as_set_aside_at_the_chosen_share_are_those_of_the_verdicts(turned):
    one, page = turned
    explorer, votes = page.explorer, page.votes
    at = explorer.share.index(pytest.approx(explorer.chosen, rel=1e-4))
    pruned = set(one.verdicts.index[one.verdicts["pruned"]].map(str))
    other_way = {row for row, is_turned in zip(votes.row, votes.turned, strict=True) if is_turned}
    assert len(other_way) == page.n_turned == one.ranker.facts.n_turned_votes
    first = set(votes.row[: explorer.n_pruned[at]])
    assert first == pruned - other_way
    assert other_way < pruned
    assert bool(other_way) == (one.ranker.settings.method != "paper")
    assert page.n_in_order >= explorer.n_pruned[-1], "the list goes as far as the slider"


def test_votes_listed_at_another_share_are_those_a_fit_at_that_share_sets_aside(turned):
    one, page = turned
    at = page.explorer.share.index(0.05)
    settings = {name: getattr(one.ranker.settings, name) for name in FitSettings.__slots__}
    other = fit(one.votes.frame, one.features, **(settings | {"prune": 0.05}))
    aside = aside_order(other)
    assert page.explorer.n_pruned[at] == aside.n_aside > 0
    listed = set(page.votes.row[: aside.n_aside])
    assert listed == set(other.verdicts.index[aside.rows[: aside.n_aside]].map(str))


def test_a_list_that_ends_early_still_has_the_votes_read_the_other_way_round(turned, monkeypatch):
    one, _ = turned
    order = aside_order(one.ranker)
    monkeypatch.setattr(columns, "_MOST", order.n_aside + order.turned.size)
    listed = listed_votes(one.verdicts, order)
    assert listed.votes["turned"].sum() == order.turned.size
    assert set(listed.votes.index[: order.n_aside]) == set(order.rows[: order.n_aside])
    assert len(listed.votes) <= order.n_aside + order.turned.size


def test_the_ranking_at_the_chosen_share_is_the_judges(turned):
    """It was made of the same votes at nearly the same share."""
    one, page = turned
    explorer = page.explorer
    at = explorer.share.index(pytest.approx(explorer.chosen, rel=1e-4))
    assert explorer.tau_chosen[at] == 1.0
    scores = one.judge.scores.set_index("item")["score"]
    votes = pd.concat([one.split.held_out, one.split.unseen])
    found = held_out_agreement(one.judge.score(one.features), votes)
    assert explorer.agreement[at] == pytest.approx(found, abs=0.01)
    place = {page.items.name[item]: -k for k, item in enumerate(explorer.top[at])}
    assert tau_b(pd.Series(place, dtype=float), scores) > 0.9


def test_the_page_and_the_summary_give_the_same_numbers(turned):
    one, page = turned
    n_aside = page.n_pruned - page.n_turned
    assert f"{n_aside:,} of 3,000 votes" in one.ranker.summary()
    first = one.ranker.facts.first_rests_on
    if first is not None and first[0] is not None:
        assert f"First place rests on {first[0]:,} vote" in page.summary
    assert message("votes_set_aside", count=n_aside) in page.summary
    if page.n_turned:
        assert f"{page.n_turned:,} votes" in one.ranker.summary()
        assert message("votes_read_otherwise", count=page.n_turned) in page.summary


def test_a_page_says_why_something_could_not_be_tried():
    votes, features = crowd(n_votes=40)
    page = page_of(fitted(votes, features))
    assert page.self_test is None
    assert page.no_self_test.code == "too_few_to_flip"
    assert page.no_self_test.fields["n_decided"] == 40
    apart = pd.DataFrame({"winner": ["a", "c"] * 60, "loser": ["b", "d"] * 60})
    apart["time"] = pd.Timestamp("2026-11-01", tz="UTC")
    one = fitted(apart, pd.DataFrame({"item": [*"abcd"], "x": [4.0, 3.0, 2.0, 1.0]}))
    alone = replace(one, features=None)  # as if nothing said how the two groups compare
    page = page_of(alone)
    assert page.no_self_test.code == "parts_never_compared"


def test_a_page_gives_the_reason_why_there_is_no_judge():
    one = replace(fitted(*crowd()), judge=None, unjudged="the train votes are all ties.")
    page = page_of(one)
    assert (page.explorer, page.no_explorer) == (None, "the train votes are all ties.")


def test_the_careless_are_named_as_where_contrary_votes_come_from(made):
    _, page = made
    named = {one.name for one in page.concentration.clusters if one.kind == "person"}
    assert named == {"person-0", "person-1"}


def test_the_numbers_add_up(made):
    _, page = made
    found = page.diagnostics
    assert found.n_votes == page.rows["used"] + page.rows["ties"] == sum(found.residuals)
    assert sum(found.votes_per_item) == found.n_items == 40
    assert sum(found.component_sizes) == 40
    assert found.methods[0][0] == "urlr"
    assert page.self_test.auc.low > 0.6  # guessers head the order, before what was flipped


def test_what_is_new_is_told_by_the_earlier_results(made):
    one, _ = made
    earlier = one.ranker.scores.copy()
    for name in ("rank", "rank_low", "rank_high"):
        earlier[name] = 41 - earlier[name]
    earlier[["rank_low", "rank_high"]] = earlier[["rank_high", "rank_low"]].to_numpy()
    earlier["score"] = -earlier["score"]
    people = frozenset(f"person-{k}" for k in range(9))
    page = page_of(fitted(*crowd(), before=Earlier("run-1", 500, earlier, people)))
    assert page.moves.since == "run-1"
    assert page.moves.n_compared == 40
    assert len(page.moves.item) > 10
    new = [
        name for name, is_new in zip(page.people.name, page.people.is_new, strict=True) if is_new
    ]
    assert new == ["person-9"]


def test_the_same_votes_give_the_same_page(made):
    one, page = made
    assert page_of(one) == page


@pytest.mark.parametrize("settings", [{"method": "paper", "prune": 0.1}, {}])
@pytest.mark.parametrize("with_features", [True, False])
def test_every_method_has_a_page(settings, with_features):
    votes, features = crowd(n_votes=300)
    one = fitted(votes, features if with_features else None, **settings)
    page = page_of(one)
    assert page.n_pruned == sum(page.votes.pruned)
    assert len(page.people.name) == 10


@pytest.mark.parametrize("n_votes", [1, 2, 5])
def test_a_handful_of_votes_has_a_page_too(n_votes):
    votes, features = crowd(n_votes=n_votes)
    page = page_of(fitted(votes, features))
    assert page.diagnostics.n_votes == n_votes


def test_votes_without_names_or_times_have_a_page():
    votes, _ = crowd(n_votes=300)
    ranker = fit(votes[["item_a", "item_b", "outcome"]], replicates=0)
    files = fit_page(ranker, None, name="votes.csv")
    assert [*files] == ["report.html"]
    assert b"votes.csv" in files["report.html"]


def test_the_share_of_the_left_counts_choices_by_side():
    votes, _ = crowd()
    share = (votes["left"] == votes["outcome"]).mean()
    assert left_share(vote_table(votes)) == pytest.approx(share)
    assert left_share(vote_table(votes.drop(columns="left"))) is None
