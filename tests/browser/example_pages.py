"""Pages of attributes to look at: any size, always the same, plain or with hostile names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from tasks.coordinated import Coordinated, words_of
from tasks.report.attribute_page import PageHead
from tasks.report.data import (
    AttributePage,
    Cluster,
    Concentration,
    Diagnostics,
    Enough,
    Explorer,
    Group,
    Interval,
    Items,
    Moves,
    People,
    SelfTest,
    Votes,
)
from urlr.messages import message

REASONS = (
    "",
    message("against_ranking"),
    message("careless_voter"),
    message("reversed_voter"),
)
VERDICTS = (
    "careless",
    "reversed",
    "coordinated",
    "fine",
    "too few votes",
    "one-sided",
    "different taste",
)
SHARES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
CHOSEN = 0.1
TURNED = "\x1b[31mred\x1b[0m \u202etxt.exe \u200b"
HOSTILE = (
    "<script>window.hit = 1; alert(1)</script>",
    "<img src=x onerror='window.hit = 2'>",
    "{{7*7}} ${7*7} @{name}{safe}",
    "$$\\href{javascript:alert(1)}{x}$$",
    "</script><script>alert(2)</script>",
    "javascript:alert(3)",
    "=HYPERLINK(1)",
    TURNED,
    "\\(x\\) \\[y\\] <!-- <b>bold</b>",
    "w" * 10_000,
)
ADDRESSES = (
    "javascript:alert(4)",
    "java\tscript:alert(5)",
    " javascript:alert(6)",
    "data:text/html,<script>alert(7)</script>",
    "//elsewhere.example/x.png",
    "/\\elsewhere.example/x.png",
    "vbscript:x",
    "javascript:alert(8)//.png",
    "file:///etc/passwd",
    "\u0001javascript:alert(9)",
)


def example_head(**given: object) -> PageHead:
    head = PageHead(
        night=date(2026, 3, 14),
        run="2026-03-14T02-00-00Z-4f1c",
        outcome="held",
        reason="held: tau 0.412 is below the champion's 0.455 by 0.043 (0.020 to 0.066 with 99 % "
        "confidence) on 1,204 held-out votes of 57 people",
        version=8,
        live=7,
        live_since=datetime(2026, 3, 12, 2, 4, tzinfo=UTC),
        live_night=date(2026, 3, 12),
        tau=Interval(0.412, 0.371, 0.453),
        n_judged=1204,
        change=Interval(-0.043, -0.066, -0.02),
        level=0.99,
        methods=(
            ("urlr", 0.455, 0.391),
            ("raw", 0.431, 0.362),
            ("majority", 0.402, None),
            ("bradley-terry", 0.433, None),
        ),
        overview="index.html",
        commands=(
            ("Do this attribute again:", "urlr nightly --store s3://votes --only photos/smiling"),
            ("Put the version before back:", "urlr rollback photos/smiling --store s3://votes"),
        ),
    )
    return replace(head, **given)  # type: ignore[arg-type]


def example_page(
    n_items: int = 60,
    n_people: int = 40,
    n_votes: int = 5_000,
    *,
    n_listed: int | None = None,
    attribute: str = "photos/smiling",
    url: tuple[str | None, ...] | None = None,
    seed: int = 0,
) -> AttributePage:
    """A page that holds all its listed votes; half of the votes unless told."""
    rng = np.random.default_rng(seed)
    n_listed = n_votes // 2 if n_listed is None else n_listed
    n_pruned = int(CHOSEN * n_votes)
    items = _items(n_items, n_votes, n_pruned, url, rng)
    people = _people(n_people, n_votes, rng)
    votes = _votes(n_listed, n_pruned, items, n_people, rng)
    rejected = n_votes // 50
    group = tuple(k for k, word in enumerate(people.verdict) if word == "coordinated")
    return AttributePage(
        attribute=attribute,
        rows={
            "read": n_votes + rejected + 7,
            "used": n_votes - n_votes // 20,
            "ties": n_votes // 20,
            "skipped": 7,
            "rejected": rejected,
        },
        reasons_not_counted={"compares an item with itself": rejected, "skipped": 7},
        items=items,
        people=people,
        reasons=REASONS,
        n_pruned=n_pruned,
        n_turned=n_pruned // 20,
        summary=f"{n_items:,} items ranked from {n_votes:,} votes of {n_people:,} people; "
        f"{n_pruned:,} votes were set aside.",
        explorer=_explorer(n_items, n_votes, rng),
        concentration=_concentration(people, group, n_items),
        self_test=SelfTest(n_votes, n_votes // 20, Interval(0.912, 0.897, 0.926), 0.84, 5.3),
        diagnostics=_diagnostics(n_items, n_votes, rng),
        moves=Moves(
            "2026-03-13T02-00-00Z-9a2e",
            (min(3, n_items - 1), min(7, n_items - 1)),
            (4, 8),
            (2, 6),
            (7, 11),
            (14, 2),
            (10, 1),
            (18, 5),
            n_items - 2,
            2,
        ),
        votes=votes,
        n_listed=n_listed,
    )


def hostile_page() -> AttributePage:
    """Every text that comes from outside tries something."""
    page = example_page(len(HOSTILE), len(HOSTILE), 2_000, url=ADDRESSES, seed=1)
    nasty = " ".join(HOSTILE[:9])
    assert page.votes is not None
    n_listed = len(page.votes.row)
    return replace(
        page,
        attribute=HOSTILE[0],
        summary=nasty,
        items=replace(page.items, name=HOSTILE),
        people=replace(page.people, name=HOSTILE, evidence=(nasty,) * len(HOSTILE)),
        reasons=tuple(HOSTILE[:4]),
        reasons_not_counted={HOSTILE[0]: 3, HOSTILE[9]: 1},
        votes=replace(
            page.votes,
            row=tuple(HOSTILE[k % 10] for k in range(n_listed)),
            why=tuple(f"{HOSTILE[k % 10]} beat {nasty}" for k in range(n_listed)),
            time=(HOSTILE[1],) * n_listed,
        ),
        concentration=replace(
            page.concentration,
            clusters=tuple(
                replace(one, name=HOSTILE[0], words=nasty) for one in page.concentration.clusters
            ),
            groups=tuple(replace(one, words=nasty) for one in page.concentration.groups),
            what=nasty,
        ),
        diagnostics=replace(
            page.diagnostics,
            warnings=(nasty,),
            notes=(nasty,),
            solver=HOSTILE[0],
            methods=((HOSTILE[1], 0.4, None),),
            enough=replace(page.diagnostics.enough, words=nasty),
        ),
        moves=replace(page.moves, since=HOSTILE[0]) if page.moves else None,
    )


def _items(
    n: int,
    n_votes: int,
    n_pruned: int,
    url: tuple[str | None, ...] | None,
    rng: np.random.Generator,
) -> Items:
    score = np.sort(rng.normal(size=n))[::-1]
    half = rng.uniform(0.1, 0.4, n)
    per_item = rng.multinomial(2 * n_votes, np.full(n, 1 / n))
    wins = (per_item / (1 + np.exp(-score))).astype(int)
    reach = np.maximum(1, (half * n / 6).astype(int))
    rank = np.arange(1, n + 1)
    return Items(
        name=tuple(f"smile_{k:04d}.jpg" for k in rng.permutation(n)),
        url=url,
        score=tuple(score.tolist()),
        low=tuple((score - half).tolist()),
        high=tuple((score + half).tolist()),
        rank=tuple(rank.tolist()),
        rank_low=tuple(np.maximum(rank - reach, 1).tolist()),
        rank_high=tuple(np.minimum(rank + reach, n).tolist()),
        n_votes=tuple(per_item.tolist()),
        wins=tuple(wins.tolist()),
        losses=tuple((per_item - wins).tolist()),
        ties=(0,) * n,
        pruned=tuple(rng.multinomial(2 * n_pruned, np.full(n, 1 / n)).tolist()),
    )


def _people(n: int, n_votes: int, rng: np.random.Generator) -> People:
    n_off = max(3, n // 25)
    kinds = np.repeat(np.arange(3), n_off)[: max(0, n - 2)]
    kinds = np.append(kinds, np.full(n - len(kinds), 3))
    kinds[-max(1, n // 20) :] = 4
    for kind, place in zip((5, 6), np.flatnonzero(kinds == 3)[1:], strict=False):
        kinds[place] = kind
    agreement = np.clip(
        np.array([0.62, 0.2, 0.45, 0.84, 0.8, 0.55, 0.66])[kinds] + rng.normal(0, 0.03, n), 0, 1
    )
    count = np.maximum(rng.multinomial(n_votes, np.full(n, 1 / n)), 1)
    count[kinds == 4] = 4
    half = 1.6 / np.sqrt(count)
    beyond = 2 * agreement - 1
    return People(
        name=tuple(f"w{k:03d}" for k in rng.permutation(n)),
        n_votes=tuple(count.tolist()),
        agreement=tuple(agreement.tolist()),
        beyond_chance=tuple(beyond.tolist()),
        low=tuple(np.maximum(beyond - half, -1).tolist()),
        high=tuple(np.minimum(beyond + half, 1).tolist()),
        expected=(0.83,) * n,
        pruned=tuple(np.round(1 - agreement, 3).tolist()),
        left=tuple(np.clip(rng.normal(0.5, 0.05, n), 0, 1).tolist()),
        seconds=tuple(rng.uniform(2, 9, n).tolist()),
        verdict=tuple(VERDICTS[k] for k in kinds),
        q_value=tuple(np.where(np.isin(kinds, (0, 1, 2, 5)), 0.001, 0.6).tolist()),
        evidence=tuple(
            f"agrees with the ranking in {share:.0%} of {n_cast:,} votes, a typical person in 83 %"
            for share, n_cast in zip(agreement, count, strict=True)
        ),
        is_new=tuple(bool(k % 17 == 3) for k in range(n)),
    )


def _votes(n: int, n_pruned: int, items: Items, n_people: int, rng: np.random.Generator) -> Votes:
    n_items = len(items.name)
    winner = rng.integers(0, n_items, n)
    loser = (winner + rng.integers(1, n_items, n)) % n_items
    person = rng.integers(0, n_people, n)
    suspicion = np.sort(rng.uniform(0.01, 0.99, n))[::-1]
    pruned = np.arange(n) < n_pruned
    start = datetime(2026, 3, 1, 8, tzinfo=UTC)
    names = items.name
    return Votes(
        row=tuple(f"2026-03-{1 + k % 14:02d}.parquet:{k}" for k in range(n)),
        winner=tuple(winner.tolist()),
        loser=tuple(loser.tolist()),
        person=tuple(person.tolist()),
        suspicion=tuple(suspicion.tolist()),
        entry=tuple((2 * suspicion).tolist()),
        margin=tuple((-3 * suspicion).tolist()),
        time=tuple(
            (start + timedelta(minutes=int(m))).isoformat(timespec="minutes")[:16]
            for m in rng.integers(0, 20_000, n)
        ),
        pruned=tuple(pruned.tolist()),
        reason=tuple(np.where(pruned, 1 + np.arange(n) % 3, 0).tolist()),
        why=tuple(
            f"{names[lost]} beat {names[(lost + 1) % n_items]} 5:0, {names[(lost + 1) % n_items]} "
            f"beat {names[won]} 4:1, yet this vote says {names[won]} beats {names[lost]}"
            if gone
            else None
            for won, lost, gone in zip(winner, loser, pruned, strict=True)
        ),
    )


def _explorer(n_items: int, n_votes: int, rng: np.random.Generator) -> Explorer:
    share = np.array(SHARES)
    agreement = 0.74 + 0.06 * np.exp(-((share - 0.12) ** 2) / 0.02)
    top = [np.arange(min(10, n_items)) for _ in SHARES]
    for k in range(len(SHARES)):
        far = min(abs(k - SHARES.index(CHOSEN)), 4)
        for _ in range(far):
            i = int(rng.integers(0, len(top[k]) - 1))
            top[k][[i, i + 1]] = top[k][[i + 1, i]]
        if far > 2 and n_items > 14:
            top[k][-1] = 10 + far - 3
    return Explorer(
        share=SHARES,
        n_pruned=tuple((share * n_votes).astype(int).tolist()),
        agreement=tuple(agreement.tolist()),
        low=tuple((agreement - 0.012).tolist()),
        high=tuple((agreement + 0.012).tolist()),
        top=tuple(tuple(one.tolist()) for one in top),
        tau_chosen=tuple((1 - 0.5 * np.abs(share - CHOSEN)).tolist()),
        chosen=CHOSEN,
        n_held_out=n_votes // 5,
    )


def _concentration(people: People, group: tuple[int, ...], n_items: int) -> Concentration:
    clusters = (
        Cluster(
            "person", people.name[0], 180, 61, 12.4, 1e-9, 4e-7,
            f"{people.name[0]} cast 61 of the 500 contrary votes, where 12 would be expected",
        ),
        Cluster(
            "time", "2026-03-09 14:00 to 15:00", 90, 31, 9.1, 2e-6, 3e-4,
            "Between 14:00 and 15:00 on 2026-03-09, 31 of 90 votes were contrary, where 9 would be "
            "expected",
        ),
    )  # fmt: skip
    up, down = tuple(range(min(3, n_items))), tuple(range(n_items - min(2, n_items), n_items))
    groups = (
        Group(
            group, 640, 0.94, 0.41, up, down,
            "They cast 13 % of all votes, most of them within two days, nearly all for the same "
            "few items.",
        ),
    )  # fmt: skip
    if not group:
        return Concentration(clusters, (), 412, 0.05)
    found = Coordinated(1, len(group), 640, 0, "drop")
    return Concentration(clusters, groups, 412, 0.05, words_of(found))


def _diagnostics(n_items: int, n_votes: int, rng: np.random.Generator) -> Diagnostics:
    sizes = (0.5, 1.0, 2.0, 4.0, 8.0)
    return Diagnostics(
        n_votes=n_votes,
        n_items=n_items,
        n_edges=n_votes // 2,
        n_components=2,
        component_sizes=(n_items - 2, 2),
        votes_per_item=tuple(rng.integers(0, n_items, 9).tolist()),
        votes_per_item_edges=(0, 1, 2, 5, 10, 20, 50, 100, 200, 500),
        residual_edges=tuple(np.linspace(0, 1, 21).tolist()),
        residuals=tuple((n_votes * np.exp(-np.linspace(0, 4, 20)) / 5).astype(int).tolist()),
        solver="coordinate descent",
        violation=3.1e-10,
        ridge=0.01,
        methods=(("urlr", 0.455, 0.391), ("raw", 0.431, 0.362)),
        warnings=("2 of the items were never compared with the others.",),
        notes=("12 votes had no time.",),
        enough=Enough(
            Interval(0.87, 0.84, 0.9),
            tuple(n_votes * size for size in sizes),
            tuple(size * 6.7 / (1 + size * 6.7) for size in sizes),
            "With twice the votes, rankings by two such crowds would correlate 0.93 instead of "
            "0.87.",
        ),
    )
