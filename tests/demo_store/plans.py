"""Which attributes the simulated store has, and what is the matter with each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from urlr.simulate import AnnotatorShares

NIGHT_ONE = date(2026, 11, 15)
NIGHT_TWO = date(2026, 11, 16)
MONTH = 30
"""Days before night one on which people voted."""

CATEGORIES = (
    "accessories",
    "clothing",
    "computers",
    "digital-products",
    "drinks",
    "food",
    "furniture",
    "household",
    "hygiene",
    "insurance",
    "medicine",
    "personal-care",
    "phones",
    "transport",
)
"""As many as the paper has; it names two of them, food and digital products."""

Layout = Literal["canonical", "winner and annotator", "winner"]
"""Canonical rows; or winner and loser, with and without who voted."""
Expected = Literal["published", "held", "unchanged", "failed"]
"""What a night must make of an attribute; unchanged: it has no new votes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the life of an attribute is to go."""

    attribute: str
    noun: str
    """What its items are called, before their number."""
    n_items: int
    n_people: int
    n_votes: int
    """In the month before night one."""
    n_later: int = 0
    """Honest ones on the day between the nights."""
    n_pushes: int = 0
    """Votes of a campaign, in the evening of that day."""
    days: int = MONTH
    """Days before night one on which votes came."""
    n_newcomers: int = 0
    """Items that nobody compares before that day."""
    n_features: int = 4
    """Directions in the features that the truth depends on."""
    private: float = 0.05
    """Share of the truth that no feature explains."""
    shares: AnnotatorShares = field(default_factory=AnnotatorShares)
    layout: Layout = "canonical"
    nameless: float = 0.0
    """Share of the votes of which nobody knows who cast them."""
    dirty: bool = False
    """Whether there are rows that must be rejected."""
    damaged: bool = False
    """Whether a dump is cut off."""
    has_truth: bool = False
    """Whether the store holds its true scores."""
    night_one: Expected = "published"
    night_two: Expected = "unchanged"


def _videos() -> Iterator[Plan]:
    """One person in twelve votes at random; of drinks, half of the videos are new."""
    special: dict[str, dict[str, Any]] = {
        "drinks": {
            "n_votes": 420,
            "n_later": 1600,
            "n_newcomers": 13,
            "private": 0.25,
            "shares": AnnotatorShares(),
            "night_two": "published",
        },
        "food": {"dirty": True},
        "medicine": {"layout": "winner"},
        "transport": {"layout": "winner and annotator"},
    }
    for category in CATEGORIES:
        usual = Plan(
            f"interestingness/{category}",
            category,
            n_items=30,
            n_people=12,
            n_votes=900,
            shares=AnnotatorShares(careless=1 / 12),
            has_truth=category in ("drinks", "food"),
        )
        yield replace(usual, **special.get(category, {}))


_LOST: dict[str, Any] = {"night_one": "failed", "night_two": "failed"}


def _photos() -> Iterator[Plan]:
    """Two attributes begun nine days ago, one with a dump cut off, one with hardly any votes."""
    usual = Plan("photos", "photo", n_items=300, n_people=25, n_votes=2500)
    begun = replace(usual, n_votes=320, n_later=3000, days=9, night_two="published")
    yield replace(begun, attribute="photos/aesthetic", nameless=0.03)
    yield replace(usual, attribute="photos/convincing", damaged=True, **_LOST)
    yield replace(usual, attribute="photos/formal", n_people=3, n_votes=12, night_one="held")
    yield replace(usual, attribute="photos/natural", shares=AnnotatorShares(reversed=0.04))
    yield replace(begun, attribute="photos/smiling", dirty=True, has_truth=True)


PLANS = (
    Plan(
        "headlines",
        "headline",
        n_items=120,
        n_people=20,
        n_votes=200,
        n_later=2400,
        days=12,
        n_features=16,
        night_two="published",
    ),
    *_videos(),
    *_photos(),
    Plan(
        "slogans",
        "slogan",
        n_items=60,
        n_people=60,
        n_votes=6900,
        n_later=300,
        n_pushes=4800,
        shares=AnnotatorShares(campaign=0.05),
        dirty=True,
        has_truth=True,
        night_two="published",
    ),
)
"""In seeds 0 to 9 the gate decides as planned on both nights, with drop_errors 0 and 2. What
changes honestly gains 0.00 to 0.35 of tau by person, 39 of 40 times at least 0.01. The campaign,
three of 60 people with 40 % of the votes, raises plain tau by 0.17 to 0.34 and lowers tau by person
by 0.16 to 0.32. Four of 80 people with 30 % were surely worse in three of five seeds only.
"""
