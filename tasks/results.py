"""What becomes of an attribute, as small records that travel and are kept as JSON.

The results of an attribute lie under one prefix of the store, its *place*; `result.json` is written
last, so that what has one is whole. The record of a night, `run.json`, is written last of all.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from tasks.contents import Content
from tasks.coordinated import Coordinated
from tasks.discover import Inputs, Source
from tasks.evaluate import Comparison, Judged, OrderTau, VoteTau
from tasks.gate import GateSettings
from tasks.messages import message
from tasks.report.data import SelfTest
from tasks.shift import Busiest
from tasks.split import SplitRule
from tasks.store import Store
from urlr.errors import UrlrError
from urlr.sentence import Sentence
from urlr.settings import FitSettings

RESULT, RUN = "result.json", "run.json"

Outcome = Literal["published", "held", "unchanged", "failed"]
State = Literal["Completed", "Partial", "Failed"]


class ResultError(UrlrError):
    """A record in the store cannot be read; the text says which."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A version that is or was champion, to be compared with."""

    version: int
    nights_ago: int
    """Nights since it was last champion."""
    champion: bool
    """Whether it is champion now."""
    place: str
    """Where its results lie."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is asked to do for one attribute; addresses and small records only."""

    store: Store
    run: str
    place: str
    """Prefix its results are written to."""
    inputs: Inputs
    fit: FitSettings
    gate: GateSettings
    item_share: float
    pair_share: float
    most_rejected: float
    method_version: int
    as_of: datetime | None = None
    shared: str | None = None
    """Key of the transform that all features were reduced by."""
    reduced: tuple[Source, ...] = ()
    """The features, reduced by it."""
    known: dict[str, str] = field(default_factory=dict)
    """Places of results that need not be computed again, by their key."""
    before: str | None = None
    """Place of the last results, to tell what changed."""
    rivals: tuple[Rival, ...] = ()
    champion_lost: bool = False
    """Whether there are none because the registry has lost a champion of other results."""
    frozen: bool = False
    """Whether the champion is to stay, whatever the gate says."""
    large_attribute: int = 5_000_000
    """Rows beyond which it is worked on part by part, where its settings allow that."""
    most_rows: int = 1_000_000_000
    """Rows it may have."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was found about an attribute; everything here follows from the inputs."""

    attribute: str
    key: str
    """Same key, same results."""
    place: str
    run: str
    dumps: dict[str, str]
    """ETags by key of the dump."""
    features: dict[str, str]
    """ETags by key of the part."""
    settings: str
    """Digest of all settings that results depend on."""
    shared: str | None
    """Key of the transform that all features were reduced by."""
    split: SplitRule
    """Which votes were kept from the judge."""
    rows: dict[str, int]
    """read = used + ties + skipped + rejected, over all dumps."""
    reasons: dict[str, int]
    """Rows that do not count, by reason."""
    dump_rows: dict[str, int]
    """Rows in each dump."""
    newest: datetime | None
    """Time of the newest vote."""
    n_items: int
    n_pruned: int
    n_turned: int
    n_people: int
    flagged: dict[str, int]
    """Accused people by verdict, see `urlr.people.verdicts`."""
    tau: VoteTau | None
    """Of the judge with all votes it has not seen, at the gate's confidence; None: not judged."""
    methods: tuple[Judged, ...]
    """Ours first, then what it is held against."""
    unjudged: str
    """Why there is no judge; empty if there is one."""
    truth: OrderTau | None
    """Of the scores served, with the truth."""
    warnings: tuple[str, ...]
    files: tuple[str, ...]
    seconds: float = field(compare=False)
    """CPU time of the work."""
    memory: int = field(compare=False)
    """Peak memory of the worker, in bytes."""
    left_share: float | None = None
    """Share of choices for what was shown on the left; None where sides are not known."""
    self_test: SelfTest | None = None
    """How well votes that were flipped on purpose are found; None where there are too few."""
    groups: tuple[str, ...] = ()
    """People who act together, in words, a sentence for each group."""
    busiest: Busiest | None = None
    """Who cast the most votes; None where nobody is named."""
    digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the model and of the judge, by file."""
    remarks: tuple[str, ...] = ()
    """What is odd about the votes that came in: ids, columns."""
    mixed: float | None = None
    """Items that both win and lose, of those that would if pairs were drawn at random; None where
    too few would."""
    guessed: float | None = None
    """Tau of a mere guess with the votes, that winners beat losers; None with too few pairs."""
    chosen: dict[str, str] = field(default_factory=dict)
    """All settings that results depend on, by name."""
    coordinated: Coordinated | None = None
    """How many people act together, and what became of their votes; None where nobody does, or an
    older urlr did not look."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a worker sends back."""

    result: Result
    reused: bool
    """Whether the results were there already."""
    champion: Comparison | None
    """With the champion; None where there is none, or its judge is lost."""
    earlier: tuple[tuple[int, int, Comparison], ...]
    """Version, nights ago and comparison, of the other rivals."""
    lost: tuple[int, ...]
    """Versions whose judge is no longer in the store."""
    change: OrderTau | None
    """Of the scores, with those of the last results."""
    new_votes: int | None = None
    """Votes more than in the last results; None where there are none, or they are these."""
    new_people: int | None = None
    """People who are not in the last results; None where that is not known."""
    alike: OrderTau | None = None
    """Of the judge's order, with that of the champion's judge; None where one is missing."""
    new_items: Comparison | None = None
    """With the champion, on votes on items that are new to it; None where there are none."""
    judged: VoteTau | None = None
    """The same difference on all unseen votes, new items or not, where the champion decides by
    those on items it knew alone; None: on the same votes."""
    moved: tuple[Sentence, ...] = ()
    """Columns of the features whose values are others than the champion had."""
    known: int = 0
    """Items that the champion knew."""
    met: int = 0
    """Those of them that tonight's votes name."""
    merged: int = 0
    """Those that are one with another of them, in tonight's spelling; they are left out."""
    suspect: tuple[Sentence, ...] = ()
    """Why tonight's features look broken beside the champion's; the champion is then judged by
    the items it knew alone."""
    lost_file: str | None = None
    """Key of the file for want of which the champion is not compared with; None: it is."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the record of a night says about one attribute."""

    attribute: str
    run: str
    """The run that last worked on it."""
    outcome: Outcome
    """In that run."""
    reason: str
    """One plain sentence: what was decided, or what failed and what to do."""
    key: str | None = None
    """Of the last results that went through the gate."""
    place: str | None = None
    dumps: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    settings: str = ""
    shared: str | None = None
    verdict: Literal["published", "held", ""] = ""
    """What the gate said of them."""
    version: int | None = None
    """Registered version of these results."""
    replaced: int | None = None
    """Champion before."""
    rows: dict[str, int] = field(default_factory=dict)
    n_pruned: int = 0
    n_turned: int = 0
    """Those of them that are read the other way round."""
    tau: VoteTau | None = None
    held_out: dict[str, float] = field(default_factory=dict)
    """Tau with votes on held-out pairs, of ours and of what it is held against."""
    unseen: dict[str, float] = field(default_factory=dict)
    """The same with votes on held-out items, where features are known."""
    difference: VoteTau | None = None
    """Challenger less champion."""
    tau_between: float | None = None
    """With the scores of the last results."""
    truth: float | None = None
    newest: datetime | None = None
    seconds: float = 0.0
    memory: int = 0
    attempts: int = 0
    computed: bool = False
    """Whether it was fitted in that run, not found as another left it."""
    page: str | None = None
    """Key of its page in the report of the run that last had results for it."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Rows that do not count, by reason."""
    n_items: int = 0
    n_people: int = 0
    new_votes: int | None = None
    """Votes that the last results did not have; None: there were none."""
    new_people: int | None = None
    """People who voted for the first time."""
    left_share: float | None = None
    """Share of choices for what was shown on the left; None where sides are not known."""
    flagged: dict[str, int] = field(default_factory=dict)
    """People not to trust, by verdict."""
    self_test: SelfTest | None = None
    groups: tuple[str, ...] = ()
    """People who act together, in words, a sentence for each group."""
    size: int = 0
    """Bytes of its dumps."""
    remarks: tuple[str, ...] = ()
    """What is odd about the votes that came in: ids, columns."""
    frozen: bool = False
    """Whether it was held because the champion is to stay."""
    truths: dict[str, str] = field(default_factory=dict)
    """ETags of the tables of the truth, by key."""
    unused_rows: int | None = None
    """Rows of the dumps, if it failed after all of them were read."""
    waiting: dict[str, str] = field(default_factory=dict)
    """Places, by key, of results that were computed and could not be taken to the gate."""
    gate: GateSettings | None = None
    """The rules by which it was held or published."""
    rival_lost: bool = False
    """Whether what it is to be held against is gone: the champion's judge from the store, or a
    champion of other results from the registry."""
    live: int | None = None
    """Version that serves."""
    live_since: datetime | None = None
    live_night: date | None = None
    """The night whose votes it was made from."""
    behind_since: datetime | None = None
    """Start of the first of all runs since which newer votes or results do not serve, or it fails;
    None: it is not behind."""
    coordinated: Coordinated | None = None
    """As in `Result`."""


@dataclass(frozen=True, slots=True)
class SharedTable:
    """A table of features that was reduced once for all attributes."""

    etags: dict[str, str]
    """ETags of its parts, by key."""
    transform: str
    """Where the transform lies."""
    components: int
    reduced: tuple[Source, ...]
    """The parts, reduced."""


@dataclass(frozen=True, slots=True)
class Night:
    """The record of a run."""

    run: str
    night: date
    started: datetime
    finished: datetime
    state: State
    reason: str
    dry: bool
    force: bool
    only: tuple[str, ...]
    as_of: datetime | None
    entries: dict[str, Entry]
    """Of every attribute ever seen; `Entry.run` tells which were worked on tonight."""
    refused: tuple[str, ...] = ()
    """Objects that belong to no attribute."""
    notes: tuple[str, ...] = ()
    workers_lost: int = 0
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds by stage; `fits` and `publishing` lie within `attributes`, and beside each other."""
    shared: dict[str, SharedTable] = field(default_factory=dict)
    """Features reduced for all attributes, by folder."""
    reported: bool = True
    """Whether its report is there."""
    contents: dict[str, Content] = field(default_factory=dict)
    """What files held, by key, to know copies of them again."""

    def tonight(self) -> list[Entry]:
        """The attributes this run worked on."""
        return [entry for entry in self.entries.values() if entry.run == self.run]


SCHEMA = 2
"""Of the records written here; those of the first urlr have none, and are read."""

_SCHEMA = re.compile(rb'\s*\{\s*"schema":\s*([0-9]{1,9})\b')

T = TypeVar("T")


class Record(Generic[T]):
    """Reads and writes records of one kind as JSON."""

    def __init__(self, kind: type[T], *, compact: bool = False) -> None:
        self._name = kind.__name__.lower()
        self._layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 1}
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def to_bytes(self, record: T) -> bytes:
        """The record as JSON."""
        plain = {"schema": SCHEMA} | _strict(self._adapter.dump_python(record, mode="json"))
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, **self._layout)
        return f"{text}\n".encode("utf-8", "surrogatepass")

    def from_bytes(self, data: bytes, where: str) -> T:
        """Read a record that lies at `where`.

        Raises
        ------
        ResultError
            It is damaged, or was written by a newer urlr.
        """
        written = _SCHEMA.match(data)
        if written is not None and int(written[1]) > SCHEMA:
            newer = int(written[1])
            raise ResultError(
                message("newer_record", path=where, kind=self._name, schema=newer, known=SCHEMA)
            )
        try:
            read: T = self._adapter.validate_json(data)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            place = ".".join(map(str, wrong["loc"]))
            raise ResultError(
                message("not_a_record", path=where, kind=self._name, part=place, why=wrong["msg"])
            ) from None
        return read


def _strict(value: Any) -> Any:
    """Numbers that JSON does not know, as texts that are read back as numbers."""
    if isinstance(value, dict):
        return {name: _strict(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_strict(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


RESULTS = Record(Result)
NIGHTS = Record(Night)
