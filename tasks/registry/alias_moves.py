"""Moving the champion alias: a record, the last check, the alias, and the word that it is done.

A run may die between any two of these. `reconcile` then finishes the move if the alias still stands
where the record found it (the version was verified before the record was written), and notes it
when somebody moved the alias by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from tasks.registry.alias_history import (
    BY_HAND,
    Move,
    in_order,
    last_done,
    line,
    moves_in,
    new_move,
    now,
    reigns,
)
from tasks.registry.alias_history import unreadable as unreadable_records
from tasks.registry.mlflow_client import Mlflow
from tasks.registry.publication import verdict_tag, version_of
from urlr.ids import shown

CHAMPION = "champion"
CHALLENGER = "challenger"


def nothing() -> None:
    """The last check of a move that needs no lease."""


@dataclass(frozen=True, slots=True)
class Model:
    """The registered model of an attribute, as the registry gave it at one moment."""

    mlflow: Mlflow
    attribute: str
    name: str
    tags: Mapping[str, str]
    aliases: Mapping[str, int]

    @property
    def moves(self) -> list[Move]:
        """All records of moves, in order."""
        return moves_in(self.attribute, self.tags)

    @property
    def champion(self) -> int | None:
        """Where the champion alias stands."""
        return self.aliases.get(CHAMPION)

    @property
    def earlier(self) -> list[int]:
        """Champions before the present one, without those from which somebody went back."""
        found = line(self.moves)
        return found[: found.index(self.champion)] if self.champion in found else found

    def in_reach(self, *, nights: int, today: date) -> set[int]:
        """Champions of the last nights, and the one that a rollback leads to."""
        ended = reigns(self.moves, self.champion, today)
        return {number for number, ago in ended.items() if ago <= nights} | set(self.earlier[-1:])

    def has(self, number: int) -> bool:
        """Whether there is a whole version of that number."""
        found = self.mlflow.version(self.name, number)
        return found is not None and version_of(self.attribute, found) is not None


def make_champion(
    model: Model,
    number: int,
    *,
    run: str,
    night: date | None,
    why: str,
    forced: bool,
    rollback: bool,
    before: Callable[[], None],
) -> Move:
    """Move the alias to a verified version that is not champion yet.

    If `before` raises, the alias stays, and the record says so.
    """
    move = new_move(
        model.moves,
        model.attribute,
        model.champion,
        number,
        run=run,
        night=night,
        why=why,
        forced=forced,
        rollback=rollback,
    )
    mlflow, name = model.mlflow, model.name
    mlflow.tag_model(name, move.record())
    try:
        before()
    except BaseException as error:
        mlflow.tag_model(name, replace(move, dropped=f"{type(error).__name__}: {error}").end())
        raise
    mlflow.set_alias(name, CHAMPION, number)
    done = replace(move, done=max(move.when, now()))
    mlflow.tag_model(name, done.end())
    judge(model, number, "champion again" if rollback else "published", why)
    if model.aliases.get(CHALLENGER, number + 1) <= number:  # what was held is overtaken
        mlflow.delete_alias(name, CHALLENGER)
    return done


def judge(model: Model, number: int, verdict: str, reason: str) -> None:
    """Write on a version what was decided, for people who look at it in MLflow."""
    said = verdict_tag(verdict, reason)
    model.mlflow.tag_version(model.name, number, said)


def reconcile(model: Model, before: Callable[[], None]) -> list[str]:
    """Bring alias and records together; plain sentences say what was found and done."""
    who = shown(model.attribute, 100)
    said = [
        f"{who}: the record {shown(key, 100)} cannot be read and is left out of its history."
        for key in unreadable_records(model.tags)
    ]
    moves, standing = model.moves, model.champion
    for move in [move for move in reversed(moves) if move.pending]:
        ended, text = _ended(model, move, standing, before)
        moves = in_order([ended if one is move else one for one in moves])
        if ended.done is not None:
            standing = ended.to
        said.append(f"{who}: run {shown(move.run)} ended while it moved the champion; {text}")
    last = last_done(moves)
    recorded = None if last is None else last.to
    by_hand = standing != recorded
    if by_hand:
        said.append(f"{who}: {_noted(model, moves, recorded, standing)}")
    by_hand = by_hand or (last is not None and last.run == BY_HAND)
    if by_hand and standing is not None and not model.has(standing):
        said.append(
            f"{who}: its champion, version {standing}, was not registered by urlr and cannot be "
            "used; roll back to one that was."
        )
    return said


def _ended(
    model: Model, move: Move, standing: int | None, before: Callable[[], None]
) -> tuple[Move, str]:
    """A move that was begun, finished if the alias still stands where it stood then."""
    if standing == move.to:
        ended, text = replace(move, done=move.when), f"version {move.to} is champion."
    elif standing != move.before or move.to is None:
        there = "nowhere" if standing is None else f"at version {standing}"
        ended = replace(move, dropped=f"the alias stood {there}")
        text = f"version {move.to} is not made champion, since the alias stands {there} now."
    elif not model.has(move.to):
        ended = replace(move, dropped=f"version {move.to} was not there")
        text = f"version {move.to} is not made champion, since it is not there any more."
    else:
        before()
        model.mlflow.set_alias(model.name, CHAMPION, move.to)
        ended = replace(move, done=max(move.when, now()))
        text = f"version {move.to} is champion now."
    model.mlflow.tag_model(model.name, ended.end())
    return ended, text


def _noted(model: Model, moves: list[Move], recorded: int | None, standing: int | None) -> str:
    """Record a move that was not ours."""
    what = "was removed" if standing is None else f"was moved to version {standing}"
    since = "none" if recorded is None else f"version {recorded}"
    why = f"the alias {what} by hand at some time before"
    found = new_move(moves, model.attribute, recorded, standing, run=BY_HAND, night=None, why=why)
    model.mlflow.tag_model(model.name, found.record())
    model.mlflow.tag_model(model.name, replace(found, done=found.when).end())
    return f"its champion {what} by hand, from {since}; it is noted."
