"""Moving the champion alias: a record, the last check, the alias, and the word that it is done.

A run may die between any two of these. `reconcile` then finishes the move if the alias still stands
where the record found it (the version was verified before the record was written), and notes it
when somebody moved the alias by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from tasks.messages import message
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
from urlr.sentence import Sentence

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


def reconcile(model: Model, before: Callable[[], None]) -> list[Sentence]:
    """Bring alias and records together; plain sentences say what was found and done."""
    who = model.attribute
    said = [
        message("unreadable_move", attribute=who, record=key)
        for key in unreadable_records(model.tags)
    ]
    moves, standing = model.moves, model.champion
    for move in [move for move in reversed(moves) if move.pending]:
        ended, ending = _ended(model, move, standing, before)
        moves = in_order([ended if one is move else one for one in moves])
        if ended.done is not None:
            standing = ended.to
        said.append(message("half_moved", attribute=who, run=move.run, ending=ending))
    last = last_done(moves)
    recorded = None if last is None else last.to
    by_hand = standing != recorded
    if by_hand:
        said.append(_noted(model, moves, recorded, standing))
    by_hand = by_hand or (last is not None and last.run == BY_HAND)
    if by_hand and standing is not None and not model.has(standing):
        said.append(message("champion_not_ours", attribute=who, version=standing))
    return said


def _ended(
    model: Model, move: Move, standing: int | None, before: Callable[[], None]
) -> tuple[Move, Sentence]:
    """A move that was begun, finished if the alias still stands where it stood then."""
    if standing == move.to:
        ended = replace(move, done=move.when)
        ending = message("moved_before_it_ended", version=move.to)
    elif standing != move.before or move.to is None:
        place = message("alias_nowhere")
        if standing is not None:
            place = message("alias_at_version", version=standing)
        ended = replace(move, dropped=message("dropped_alias_elsewhere", place=place))
        ending = message("alias_went_elsewhere", version=move.to, place=place)
    elif not model.has(move.to):
        ended = replace(move, dropped=message("dropped_version_vanished", version=move.to))
        ending = message("version_vanished", version=move.to)
    else:
        before()
        model.mlflow.set_alias(model.name, CHAMPION, move.to)
        ended = replace(move, done=max(move.when, now()))
        ending = message("move_finished", version=move.to)
    model.mlflow.tag_model(model.name, ended.end())
    return ended, ending


def _noted(model: Model, moves: list[Move], recorded: int | None, standing: int | None) -> Sentence:
    """Record a move that was not ours."""
    change, since = message("alias_was_removed"), message("no_version")
    if standing is not None:
        change = message("alias_was_moved", version=standing)
    if recorded is not None:
        since = message("version_number", version=recorded)
    why = message("why_moved_by_hand", change=change)
    found = new_move(moves, model.attribute, recorded, standing, run=BY_HAND, night=None, why=why)
    model.mlflow.tag_model(model.name, found.record())
    model.mlflow.tag_model(model.name, replace(found, done=found.when).end())
    return message("alias_moved_by_hand", attribute=model.attribute, change=change, before=since)
