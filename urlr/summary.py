"""A fit in plain words."""

from __future__ import annotations

from scipy.special import expit

from urlr.ids import plural, shown
from urlr.ranker import Ranker


def summary_of(ranker: Ranker) -> str:
    """What was done and what to look at."""
    facts = ranker.facts
    rows = facts.rows
    lines = [
        f"Ranked {plural(len(ranker.scores), 'item')} from {plural(rows['read'], 'vote')}: "
        f"{rows['used']:,} used, {plural(rows['ties'], 'tie')}, {rows['skipped']:,} skipped, "
        f"{rows['rejected']:,} rejected.",
    ]
    if ranker.settings.method == "paper":
        lines += [_pruned_edges(ranker), *_features(ranker)]
    else:
        lines += [_pruned_votes(ranker), *_features(ranker), *_trust(ranker), *_people(ranker)]
    lines.append(f"Top: {_best(ranker)}.")
    lines += [f"Warning: {text}" for text in facts.warnings]
    lines += [f"Note: {text}" for text in facts.notes]
    return "\n".join(lines)


def _pruned_edges(ranker: Ranker) -> str:
    facts = ranker.facts
    counted = facts.rows["used"] + facts.rows["ties"]
    if facts.n_pruned_edges == 0:
        return "Pruned nothing."
    text = (
        f"Pruned {facts.n_pruned_votes:,} of {plural(counted, 'vote')} "
        f"({facts.n_pruned_votes / counted:.1%}), those that contradict the rest most: "
        f"{facts.n_pruned_edges:,} of {plural(facts.n_edges, 'edge')} "
        f"({facts.n_pruned_edges / facts.n_edges:.1%}), an edge being all votes for one item "
        f"over another. Their order is "
        f"{'exact' if facts.solver == 'exact' else 'interpolated on a grid'}, solved to "
        f"{facts.violation:.0e}."
    )
    if facts.n_tied_at_cut:
        tied = plural(facts.n_tied_at_cut, "kept edge is", "kept edges are")
        text += f" {tied} just as suspicious as the last pruned: there the cut is arbitrary."
    return text


def _pruned_votes(ranker: Ranker) -> str:
    facts = ranker.facts
    counted = facts.rows["used"] + facts.rows["ties"]
    why = (
        "more likely wrong than right"
        if ranker.settings.prune == "auto"
        else "the most likely wrong"
    )
    set_aside = facts.n_pruned_votes - facts.n_turned_votes
    text = "Set no vote aside."
    if set_aside:
        text = (
            f"Set {set_aside:,} of {plural(counted, 'vote')} aside ({set_aside / counted:.1%}), "
            f"{why} given who cast them and all other votes."
        )
    if facts.n_turned_votes:
        turned = plural(facts.n_turned_votes, "vote was", "votes were")
        text += f" {turned} read the other way round, cast by people who are mostly wrong."
    if facts.n_tied_at_cut:
        tied = plural(facts.n_tied_at_cut, "kept vote is", "kept votes are")
        text += f" {tied} just as suspicious as the last of these: there the cut is arbitrary."
    return text


def _features(ranker: Ranker) -> list[str]:
    if ranker.feature_map is None:
        return []
    facts = ranker.facts
    unseen = int((ranker.scores["n_votes"] == 0).sum())
    also = f", {plural(unseen, 'item')} nobody compared included" if unseen else ""
    if ranker.settings.method == "paper":
        return [f"Scores rest on the features (smoothed by a ridge of {facts.ridge:.3g}){also}."]
    curved = " (straight and curved)" if facts.curved else ""
    own = " and, for items that were compared, on their own votes" if facts.item_spread else ""
    return [f"Scores rest on the features{curved}{own}{also}."]


def _trust(ranker: Ranker) -> list[str]:
    facts = ranker.facts
    said = []
    left_out = "people" if facts.n_annotators else "pairs"
    for tau, what in (
        (facts.tau_people, f"votes of {left_out} left out of the fit"),
        (facts.tau_unseen, "votes on items left out of the fit"),
    ):
        if tau is not None:
            between = f" ({tau[1]:.3f} to {tau[2]:.3f})" if facts.n_replicates else ""
            said.append(f"Kendall tau with {what}: {tau[0]:.3f}{between}.")
    if facts.n_replicates:
        said.append(
            f"Intervals are of nominal 90 %, from {facts.n_replicates} draws of the votes; "
            f"the best item {_best_rank(ranker)}."
        )
    if facts.lean is not None and abs(facts.lean) >= 0.05:
        side = "left" if facts.lean > 0 else "right"
        said.append(
            f"Between equals people choose the {side} in {expit(abs(facts.lean)):.0%} of votes; "
            "that is allowed for."
        )
    return said


def _people(ranker: Ranker) -> list[str]:
    people = ranker.people
    if people is None or people.empty:
        return []
    counts = people["verdict"].value_counts()
    flagged = {
        str(verdict): int(count)
        for verdict, count in counts.items()
        if count and verdict not in ("fine", "too few votes")
    }
    text = f"{plural(len(people), 'annotator')}"
    if flagged:
        named = ", ".join(f"{count:,} {verdict}" for verdict, count in flagged.items())
        return [f"{text}: {named}; at most a tenth of these flags should be mistaken."]
    return [f"{text}, none of whom stands out."]


def _best(ranker: Ranker) -> str:
    best = ranker.scores.head(3)
    return ", ".join(
        f"{shown(item)} ({round(score, 3) + 0.0:+.3f})"
        for item, score in zip(best["item"], best["score"], strict=True)
    )


def _best_rank(ranker: Ranker) -> str:
    low, high = (int(ranker.scores[name].iloc[0]) for name in ("rank_low", "rank_high"))
    return f"is rank {low}" if low == high else f"could be rank {low} to {high}"
