"""What the page of an attribute shows, as records of plain columns.

Made by a worker beside the results (`evidence.py`) and kept as JSON; the page draws it. Items and
people are named once, in `items` and `people`; everywhere else they are positions there, so that a
page of 100,000 votes stays small. Names are kept as they are: whoever shows them escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Numbers = tuple[float | None, ...]
"""A column; None where a figure is not known."""
Positions = tuple[int, ...]
"""Items by their place in `Items.name`, people by their place in `People.name`; -1 for nobody."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Items:
    """The ranking, best first; the intervals cover 90 %."""

    name: tuple[str, ...]
    url: tuple[str | None, ...] | None
    """An image or a page of each item, from the column `url` of its features; None: no such."""
    score: Numbers
    low: Numbers
    high: Numbers
    rank: Positions
    rank_low: tuple[int | None, ...]
    rank_high: tuple[int | None, ...]
    n_votes: Positions
    wins: Positions
    losses: Positions
    ties: Positions
    pruned: Positions
    """Votes on the item that do not count as they were cast."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Items whose rank moved beyond the intervals since earlier results, the farthest first."""

    since: str
    """The run of the earlier results."""
    item: Positions
    now: Positions
    """Rank among the items that were ranked both times, with a 90 % interval."""
    now_low: Positions
    now_high: Positions
    before: Positions
    """The same then."""
    before_low: Positions
    before_high: Positions
    n_compared: int
    """Items that were ranked both times."""
    n_new: int
    """Items that were not ranked then."""


@dataclass(frozen=True, slots=True)
class Explorer:
    """What would have come of other shares to set aside, one entry per share, rising from 0."""

    share: Numbers
    n_pruned: Positions
    """Votes set aside at that share: the first of the list."""
    agreement: Numbers
    """Share of held-out votes that the ranking then foretells."""
    low: Numbers
    high: Numbers
    top: tuple[Positions, ...]
    """The best ten items then."""
    tau_chosen: Numbers
    """Kendall tau between the ranking then and the one chosen."""
    chosen: float
    """The share that was chosen."""
    n_held_out: int
    """Votes that the agreement rests on."""
    of_edges: bool = False
    """Whether shares are of edges, all votes for one item over another, not of votes."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The most suspicious votes, in the order in which they are set aside as the share grows.

    Votes that are read the other way round come last. A page holds the first part of them.
    """

    row: tuple[str, ...]
    """Id of the vote, or its file and row."""
    winner: Positions
    loser: Positions
    person: Positions
    suspicion: Numbers
    """Probability that it is wrong; None in the paper's method."""
    entry: Numbers
    """Penalty at which it became an outlier."""
    margin: Numbers
    """Score of its winner less that of its loser."""
    time: tuple[str | None, ...]
    """When it was cast, to the minute."""
    pruned: tuple[bool, ...]
    """Does not count as it was cast."""
    reason: Positions
    """Place in `reasons`."""
    why: tuple[str | None, ...]
    """The shortest contradiction it takes part in, in words, or the margin it contradicts; names
    stand in it as they are. None where the reason says it all, and for votes that are kept."""
    turned: tuple[bool, ...] = ()
    """Read the other way round: cast by someone who is mostly wrong."""


@dataclass(frozen=True, slots=True)
class People:
    """Everybody who voted, those not to trust first."""

    name: tuple[str, ...]
    n_votes: Positions
    agreement: Numbers
    """Share of the decided votes that go with a ranking that does not know them."""
    beyond_chance: Numbers
    """2 agreement - 1, with a 90 % interval."""
    low: Numbers
    high: Numbers
    expected: Numbers
    """Agreement of a typical person on the same pairs."""
    pruned: Numbers
    """Share of the votes that do not count as they were cast."""
    left: Numbers
    seconds: Numbers
    """Median time of a vote."""
    verdict: tuple[str, ...]
    q_value: Numbers
    evidence: tuple[str, ...]
    is_new: tuple[bool, ...]
    """Had not voted in the earlier results."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """More contrary votes in one place than chance explains."""

    kind: str
    """person, item or time"""
    name: str
    """Who, which item, or the window of time."""
    n_votes: int
    n_contrary: int
    expected: float
    """Contrary votes to be expected there."""
    p_value: float
    q_value: float
    """Corrected for all that was looked at (Benjamini & Hochberg)."""
    words: str
    """One plain sentence."""


@dataclass(frozen=True, slots=True)
class Group:
    """People who act together."""

    people: Positions
    n_votes: int
    inside: float | None
    """Share of the votes of two of them on one pair that agree; None where they share none."""
    outside: float | None
    """The same between them and all others."""
    items_up: Positions
    """Items they favour most, against the consensus."""
    items_down: Positions
    words: str


@dataclass(frozen=True, slots=True)
class Concentration:
    """Whether contrary votes come from somewhere in particular."""

    clusters: tuple[Cluster, ...]
    """Significant ones, most surprising first."""
    groups: tuple[Group, ...]
    n_tests: int
    level: float
    """False discovery rate."""
    what: str = ""
    """What became of the votes of the groups, in plain words; empty where there are none."""


@dataclass(frozen=True, slots=True)
class Taste:
    """People who differ from the consensus alike."""

    n_people: int
    share: float
    """Of the people who can be judged."""
    n_votes: int
    tau: float
    """Kendall's, between its ranking and the consensus."""
    top: Positions
    """The first ten by its ranking."""
    words: str


@dataclass(frozen=True, slots=True)
class SelfTest:
    """How well votes that were flipped on purpose, in a copy, are found."""

    n_votes: int
    n_flipped: int
    auc: Interval
    """Chance that a flipped vote comes before an untouched one in the order of suspicion."""
    recall: float
    """Share of the flipped votes among the first 20 % of the order."""
    lift: float | None
    """How many times more flipped votes were set aside, at the chosen rate, than chance would;
    None where none was."""


@dataclass(frozen=True, slots=True)
class Enough:
    """Are there enough votes: how alike two halves of the crowd rank, and with more votes."""

    reliability: Interval | None
    """Correlation with the scores of another crowd of the same size (split halves, stepped up);
    None where halves cannot be ranked."""
    votes: Numbers
    """Numbers of votes, and the reliability to be expected at each."""
    expected: Numbers
    words: str


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What the numbers rest on."""

    n_votes: int
    n_items: int
    n_edges: int
    n_components: int
    component_sizes: Positions
    """Items in each group that was never compared with the others, largest first, ten at most."""
    votes_per_item: Positions
    """How many items have 0, 1, 2 ... votes, in `votes_per_item_edges`."""
    votes_per_item_edges: Numbers
    residual_edges: Numbers
    residuals: Positions
    """Histogram of |outcome - what the model gives it|, one count less than edges."""
    solver: str
    violation: float
    """Certificate of the path."""
    ridge: float
    methods: tuple[tuple[str, float | None, float | None], ...]
    """Method, tau with held-out votes, tau with votes on unseen items."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    enough: Enough


@dataclass(frozen=True, slots=True)
class Beyond:
    """What lies past the ends of a page's tables: how much there was, and names pointed to."""

    n_items: int
    n_people: int
    n_moved: int
    n_clusters: int
    items: dict[int, str]
    """By place."""
    people: dict[int, str]


@dataclass(frozen=True, slots=True)
class AttributePage:
    """Everything that the page of an attribute shows and that follows from its votes."""

    attribute: str
    rows: dict[str, int]
    """read = used + ties + skipped + rejected"""
    reasons_not_counted: dict[str, int]
    items: Items
    people: People
    reasons: tuple[str, ...]
    """What `Votes.reason` points to."""
    n_pruned: int
    """Votes that do not count as they were cast ..."""
    n_turned: int
    """... and those of them that are not set aside, but read the other way round."""
    summary: str
    explorer: Explorer | None
    concentration: Concentration
    self_test: SelfTest | None
    diagnostics: Diagnostics
    moves: Moves | None = None
    tastes: tuple[Taste, ...] = ()
    """Groups of people of a taste of their own, the largest first."""
    n_listed: int = 0
    """Votes in the list of suspicious ones."""
    n_per_part: int = 0
    """Votes in each part of that list."""
    n_in_order: int = 0
    """Votes of the list before those that only stand there because they are turned."""
    no_explorer: str = ""
    """Why there is no explorer ..."""
    no_self_test: str = ""
    """... and no self-test."""
    votes: Votes | None = field(default=None)
    """The first part; the others are loaded when wanted."""
    beyond: Beyond | None = None
    """None where the tables are whole."""
