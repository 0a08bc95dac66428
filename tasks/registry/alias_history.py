"""Which version was champion when: records that are only ever added to.

MLflow knows where an alias stands and not where it stood. So before the alias of an attribute
moves, a record of the move becomes a tag of its registered model, under a name of its own; after
it has moved, a second tag says so. A record without the second tag is of a run that died.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from urlr.ids import shown

RECORD = "urlr.move."
END = "urlr.moved."
BY_HAND = "by hand"
"""The run of a move that was not ours."""

_LONGEST = 1000
"""Signs of a reason that are kept; a tag of a registered model takes 5,000."""


@dataclass(frozen=True, slots=True)
class Move:
    """The champion alias of an attribute going from one version to another."""

    attribute: str
    before: int | None
    """Version that was champion; None for the first, or after the alias was removed."""
    to: int | None
    """Version that became champion; None where somebody removed the alias by hand."""
    when: datetime
    """When the record was written, in UTC."""
    run: str
    night: date
    why: str
    forced: bool = False
    rollback: bool = False
    done: datetime | None = None
    """Since when the alias stands there; None if it never got there, or not yet."""
    dropped: str = ""
    """Why it never got there."""
    token: str = ""
    """Tells the record from every other; part of its name."""

    @property
    def goes_back(self) -> bool:
        """Whether somebody took the version before it back, by a rollback or in MLflow."""
        if self.before is None:
            return False
        by_hand = self.run == BY_HAND and (self.to is None or self.to < self.before)
        return self.rollback or by_hand

    @property
    def pending(self) -> bool:
        """Whether a run wrote the record and neither moved the alias nor said why not."""
        return self.done is None and not self.dropped

    def record(self) -> tuple[str, str]:
        """Name and value of the tag written before the alias moves."""
        plain = {
            "from": self.before,
            "to": self.to,
            "when": self.when.isoformat(),
            "run": shown(self.run, 200),
            "night": self.night.isoformat(),
            "why": shown(self.why, _LONGEST),
            "forced": self.forced,
            "rollback": self.rollback,
        }
        return RECORD + self.token, json.dumps(plain, ensure_ascii=False)

    def end(self) -> tuple[str, str]:
        """Name and value of the tag written after it."""
        plain = {
            "done": None if self.done is None else self.done.isoformat(),
            "dropped": shown(self.dropped, _LONGEST),
        }
        return END + self.token, json.dumps(plain, ensure_ascii=False)


def new_move(
    moves: Sequence[Move],
    attribute: str,
    before: int | None,
    to: int | None,
    *,
    run: str,
    night: date | None,
    why: str,
    forced: bool = False,
    rollback: bool = False,
) -> Move:
    """A move after all those known, also where the clock of another machine is ahead of ours."""
    when = now()
    if moves:
        when = max(when, max(_time_of(move) for move in moves) + timedelta(microseconds=1))
    token = f"{when:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(4)}"
    on = when.date() if night is None else night
    return Move(attribute, before, to, when, run, on, why, forced, rollback, token=token)


def moves_in(attribute: str, tags: Mapping[str, str]) -> list[Move]:
    """The moves recorded in the tags of a registered model, in the order they happened."""
    moves = []
    for key in tags:
        if key.startswith(RECORD):
            move = _move(attribute, key.removeprefix(RECORD), tags)
            if move is not None:
                moves.append(move)
    return in_order(moves)


def in_order(moves: Sequence[Move]) -> list[Move]:
    """Moves sorted by when the alias moved, or was to move."""
    return sorted(moves, key=lambda move: (_time_of(move), move.token))


def unreadable(tags: Mapping[str, str]) -> list[str]:
    """Records that somebody changed by hand so that they say nothing."""
    records = [key for key in tags if key.startswith(RECORD)]
    return sorted(key for key in records if _move("", key.removeprefix(RECORD), tags) is None)


def live_on(moves: Sequence[Move], moment: datetime) -> int | None:
    """The version that was champion at a moment, None if there was none."""
    standing = None
    for move in moves:
        if move.done is not None and move.done <= moment:
            standing = move.to
    return standing


def last_done(moves: Sequence[Move]) -> Move | None:
    """The move that put the alias where it stands."""
    return next((move for move in reversed(moves) if move.done is not None), None)


def last_champion(moves: Sequence[Move]) -> int | None:
    """The version that is champion, or was the last one where nothing is live any more."""
    return next((one.to for one in reversed(moves) if one.done and one.to is not None), None)


def line(moves: Sequence[Move]) -> list[int]:
    """Champions one after the other, without those from which somebody went back."""
    found: list[int] = []
    for move in moves:
        if move.done is None or move.to is None:
            continue
        if move.to in found:
            del found[found.index(move.to) + 1 :]
        else:
            found.append(move.to)
    return found


def withdrawn(moves: Sequence[Move]) -> frozenset[int]:
    """Versions that a rollback, or somebody in MLflow, took back and nobody put back."""
    gone: set[int] = set()
    for move in moves:
        if move.done is None:
            continue
        if move.before is not None and move.goes_back:
            gone.add(move.before)
        if move.to is not None:
            gone.discard(move.to)
    return frozenset(gone)


def reigns(moves: Sequence[Move], standing: int | None, today: date) -> dict[int, int]:
    """Nights since each version was last champion, the present one first with 0."""
    ended: dict[int, int] = {}
    reigning = None
    for move in moves:
        if move.done is None:
            continue
        if reigning is not None:
            ended[reigning] = max(0, (today - move.night).days)
        reigning = move.to
    ended.pop(standing or 0, None)
    rest = sorted(ended.items(), key=lambda pair: (pair[1], -pair[0]))
    return ({} if standing is None else {standing: 0}) | dict(rest)


def now() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)


def _time_of(move: Move) -> datetime:
    return move.done or move.when


def _move(attribute: str, token: str, tags: Mapping[str, str]) -> Move | None:
    try:
        said = json.loads(tags[RECORD + token])
        move = Move(
            attribute,
            None if said["from"] is None else int(said["from"]),
            None if said["to"] is None else int(said["to"]),
            datetime.fromisoformat(said["when"]).astimezone(UTC),
            str(said["run"]),
            date.fromisoformat(said["night"]),
            str(said["why"]),
            said["forced"] is True,
            said["rollback"] is True,
            token=token,
        )
        if END + token not in tags:
            return move
        end = json.loads(tags[END + token])
        done = end["done"]
        moment = None if done is None else datetime.fromisoformat(done).astimezone(UTC)
        return replace(move, done=moment, dropped=str(end["dropped"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
