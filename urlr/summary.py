"""A fit in plain words."""

from __future__ import annotations

from scipy.special import expit

from urlr.ids import shown
from urlr.messages import message
from urlr.people.crowd import NO_CONSENSUS
from urlr.people.verdicts import ACCUSATIONS
from urlr.ranker import Ranker


def summary_of(ranker: Ranker) -> str:
    """What was done and what to look at."""
    facts = ranker.facts
    lines: list[str] = [message("summary_of_rows", n_items=len(ranker.scores), rows=facts.rows)]
    if ranker.settings.method == "paper":
        lines += [_pruned_edges(ranker), *_features(ranker)]
    else:
        lines[:0] = said_first(ranker)
        lines += [_pruned_votes(ranker), *_groups(ranker), *_features(ranker), *_trust(ranker)]
        lines += [*_people(ranker), *_tastes(ranker)]
    lines.append(message("summary_top", best=_best(ranker)))
    lines += said_of_the_top(ranker)
    lines += [f"Warning: {text}" for text in facts.warnings]
    lines += [f"Note: {text}" for text in facts.notes]
    return "\n".join(lines)


def said_first(ranker: Ranker) -> list[str]:
    """What decides whether the rest is worth reading."""
    facts = ranker.facts
    said: list[str] = []
    if facts.agreed is not None and facts.agreed < NO_CONSENSUS:
        said.append(message("summary_no_consensus", share=facts.agreed))
    if 2 * facts.n_judged < facts.n_annotators:
        n_few = facts.n_annotators - facts.n_judged
        said.append(message("summary_few_judged", count=n_few, n_people=facts.n_annotators))
    return said


def said_of_the_top(ranker: Ranker) -> list[str]:
    """What the first place and the first ten rest on."""
    facts = ranker.facts
    said: list[str] = []
    if facts.first_rests_on is not None and facts.first_rests_on[0] is not None:
        votes, people = facts.first_rests_on
        by = message("by_people", count=people) if people and facts.n_annotators else ""
        said.append(message("summary_first_rests_on", count=votes, by=by))
    if facts.ten_rest_on is not None and facts.ten_rest_on[0] is not None:
        votes, people = facts.ten_rest_on
        by = message("by_people", count=people) if people and facts.n_annotators else ""
        said.append(message("summary_ten_rest_on", count=votes, by=by))
    return said


def _groups(ranker: Ranker) -> list[str]:
    facts = ranker.facts
    if not facts.n_groups:
        return []
    what = {
        "drop": message("together_dropped"),
        "once": message("together_once"),
        "keep": message("together_kept"),
    }[ranker.settings.coordination]
    return [
        message(
            "summary_together",
            count=facts.n_groups,
            n_people=facts.n_together,
            n_votes=facts.n_together_votes,
            what=what,
        )
    ]


def _tastes(ranker: Ranker) -> list[str]:
    if not ranker.facts.n_tastes or ranker.voters is None:
        return []
    tastes = ranker.tastes
    if tastes.empty:
        return [message("summary_tastes_spread", count=ranker.facts.n_tastes)]
    first = tastes.iloc[0]
    return [
        message(
            "summary_tastes",
            count=len(tastes),
            n_people=int(tastes["n_people"].sum()),
            largest=int(first["n_people"]),
            up=[shown(one) for one in first["up"][:3]],
            down=[shown(one) for one in first["down"][:3]],
        )
    ]


def _pruned_edges(ranker: Ranker) -> str:
    facts = ranker.facts
    counted = facts.rows["used"] + facts.rows["ties"]
    if facts.n_pruned_edges == 0:
        return message("summary_nothing_pruned")
    said = [
        message(
            "summary_pruned_edges",
            facts=facts,
            n_votes=counted,
            share=facts.n_pruned_votes / counted,
            edge_share=facts.n_pruned_edges / facts.n_edges,
            how=message("exact_order") if facts.solver == "exact" else message("grid_order"),
        )
    ]
    if facts.n_tied_at_cut:
        said.append(message("summary_tied_edges", count=facts.n_tied_at_cut))
    return " ".join(said)


def _pruned_votes(ranker: Ranker) -> str:
    facts = ranker.facts
    counted = facts.rows["used"] + facts.rows["ties"]
    automatic = ranker.settings.prune == "auto"
    set_aside = facts.n_pruned_votes - facts.n_turned_votes
    if ranker.settings.coordination == "drop":
        set_aside -= facts.n_together_votes
    said = [message("summary_nothing_aside")]
    if set_aside:
        share = set_aside / counted
        why = message("likely_wrong") if automatic else message("likeliest_wrong")
        said = [message("summary_aside", count=set_aside, n_votes=counted, share=share, why=why)]
    if facts.n_turned_votes:
        said.append(message("summary_turned", count=facts.n_turned_votes))
    if facts.n_tied_at_cut:
        said.append(message("summary_tied_votes", count=facts.n_tied_at_cut))
    return " ".join(said)


def _features(ranker: Ranker) -> list[str]:
    if ranker.feature_map is None:
        return []
    facts = ranker.facts
    unseen = int((ranker.scores["n_votes"] == 0).sum())
    also = message("unseen_included", count=unseen) if unseen else ""
    if ranker.settings.method == "paper":
        return [message("summary_ridge", ridge=facts.ridge, also=also)]
    curved = message("straight_and_curved") if facts.curved else ""
    own = message("own_votes") if facts.item_spread else ""
    return [message("summary_features", curved=curved, own=own, also=also)]


def _trust(ranker: Ranker) -> list[str]:
    facts = ranker.facts
    said: list[str] = []
    people, pairs = message("votes_of_held_out_people"), message("votes_of_held_out_pairs")
    for tau, what in (
        (facts.tau_people, people if facts.n_annotators else pairs),
        (facts.tau_unseen, message("votes_on_held_out_items")),
    ):
        if tau is not None and facts.n_replicates:
            value, low, high = tau
            said.append(message("summary_tau_between", what=what, tau=value, low=low, high=high))
        elif tau is not None:
            said.append(message("summary_tau", what=what, tau=tau[0]))
    if n_draws := facts.n_replicates:
        said.append(message("summary_intervals", n_replicates=n_draws, best=_best_rank(ranker)))
    if facts.lean is not None and abs(facts.lean) >= 0.05:
        share = float(expit(abs(facts.lean)))
        said.append(
            message("summary_lean_left", share=share)
            if facts.lean > 0
            else message("summary_lean_right", share=share)
        )
    return said


def _people(ranker: Ranker) -> list[str]:
    people = ranker.people
    if people is None or people.empty:
        return []
    counts = people["verdict"].astype(str).value_counts()
    accused = {one: int(counts[one]) for one in ACCUSATIONS if counts.get(one)}
    if accused:
        named = ", ".join(f"{count:,} {verdict}" for verdict, count in accused.items())
        return [message("summary_flagged", count=len(people), flags=named)]
    if ranker.facts.n_judged == 0:
        return []
    return [message("summary_people", count=ranker.facts.n_judged)]


def _best(ranker: Ranker) -> str:
    best = ranker.scores.head(3)
    return ", ".join(
        f"{shown(item)} ({round(score, 3) + 0.0:+.3f})"
        for item, score in zip(best["item"], best["score"], strict=True)
    )


def _best_rank(ranker: Ranker) -> str:
    low, high = (int(ranker.scores[name].iloc[0]) for name in ("rank_low", "rank_high"))
    if low == high:
        return message("is_rank", rank=low)
    return message("could_be_rank", low=low, high=high)
