"""All votes that an attribute ever gets, drawn from a seed, and what is true about each."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tests.demo_store.plans import MONTH, NIGHT_ONE, NIGHT_TWO, PLANS, Plan
from urlr.arrays import Mask
from urlr.messages import message
from urlr.simulate import Crowd, crowd

_FORMATS = (".csv.gz", ".parquet", ".csv", ".jsonl")
_WEEKS = -(-MONTH // 7)


@dataclass(frozen=True, slots=True)
class Life:
    """The votes on an attribute, each with the dump that holds it and the night that finds it."""

    plan: Plan
    rows: pd.DataFrame
    """Canonical rows in order of time, dirty ones among them, and four columns more: night, dump
    (its key), wrong (contradicts the truth), why (it must be rejected; empty if not)."""
    features: pd.DataFrame
    """What the truth depends on, by item."""
    truth: pd.Series[Any]
    people: pd.Series[Any]
    """Kind of each annotator, by name."""
    pushed: tuple[str, ...]
    damaged: str | None
    """Key of the dump that is cut off."""


def generator(seed: int, what: str) -> np.random.Generator:
    """Random numbers of its own for each thing, whatever else is drawn."""
    return np.random.default_rng([seed, zlib.crc32(what.encode())])


def life_of(plan: Plan, seed: int) -> Life:
    """Let people vote, and spread their votes over the days and the dumps."""
    rng = generator(seed, plan.attribute)
    n_votes = plan.n_votes + plan.n_later + plan.n_pushes
    made = crowd(
        rng=rng,
        n_items=plan.n_items,
        n_features=plan.n_features,
        n_votes=n_votes,
        n_annotators=plan.n_people,
        private=plan.private,
        shares=plan.shares,
        ties=0.03 if plan.layout == "canonical" else 0.0,
        pushed=0.2,
        campaign_votes=plan.n_pushes / n_votes,
    )
    width = len(str(plan.n_items - 1))
    names = [f"{plan.noun}-{number:0{width}d}" for number in range(plan.n_items)]
    items = pd.Index(names, name="item")
    rows = _rows(plan, made, items, rng)
    rows.loc[rng.random(len(rows)) < plan.nameless, "annotator"] = None
    if plan.dirty:
        rows = _dirtied(plan, rows, rng)
    dumps = rows["dump"].unique()
    return Life(
        plan,
        rows,
        made.features.set_axis(items),
        made.truth.set_axis(items).rename("score"),
        made.annotators.set_index("annotator")["kind"].astype("str"),
        tuple(items[made.truth.index.isin(made.pushed)]),
        next(key for key in dumps if key.endswith(".parquet")) if plan.damaged else None,
    )


def _rows(plan: Plan, made: Crowd, items: pd.Index[Any], rng: np.random.Generator) -> pd.DataFrame:
    push = np.asarray(made.planted == "campaign")
    a, b = (made.votes[name].cat.codes.to_numpy() for name in ("item_a", "item_b"))
    later = _later(plan, push, np.maximum(a, b))
    rows = made.votes.assign(
        item_a=items[a],
        item_b=items[b],
        time=_times(plan, later, push, rng),
        seconds=np.round(rng.lognormal(np.where(push, 0.2, 1.3), 0.5), 1),
        night=[NIGHT_TWO if late else NIGHT_ONE for late in later],
        wrong=made.wrong,
        why="",
    ).astype({"outcome": "str", "annotator": "str", "left": "str"})
    rows = rows.sort_values("time", kind="stable", ignore_index=True)
    tag = plan.attribute.replace("/", "-")
    rows["vote_id"] = [f"{tag}-{number:05d}" for number in range(len(rows))]
    rows["dump"] = _dump_keys(plan, rows)
    return rows


def _later(plan: Plan, push: Mask, newest: npt.NDArray[Any]) -> Mask:
    """Mark the votes that only night two finds; `newest` is the greater number of both items."""
    early = np.flatnonzero(~push & (newest < plan.n_items - plan.n_newcomers))[: plan.n_votes]
    if len(early) < plan.n_votes:
        raise ValueError(
            f"{plan.attribute}: {plan.n_votes} votes without newcomers wanted, {len(early)} drawn"
        )
    later = np.ones(len(push), np.bool_)
    later[early] = False
    return later


def _times(plan: Plan, later: Mask, push: Mask, rng: np.random.Generator) -> pd.DatetimeIndex:
    """Moments spread over the days before night one, over the next day, or over its evening."""
    start = np.where(push, 19.0, np.where(later, 6.0, -24.0 * plan.days))
    stop = np.where(push, 21.0, np.where(later, 23.0, 0.0))
    seconds = np.floor(3600 * rng.uniform(start, stop)).astype("m8[s]")
    return pd.DatetimeIndex((np.datetime64(NIGHT_ONE, "s") + seconds).astype("M8[us]"), tz="UTC")


def _dump_keys(plan: Plan, rows: pd.DataFrame) -> list[str]:
    """One dump for every week, named by the day it was written, and one for the day after."""
    first = pd.Timestamp(NIGHT_ONE) - pd.Timedelta(days=MONTH)
    week = ((rows["time"].dt.tz_convert(None) - first).dt.days // 7).to_numpy(copy=True)
    week[(rows["night"] == NIGHT_TWO).to_numpy()] = _WEEKS
    written = [
        min(first + pd.Timedelta(weeks=number + 1), pd.Timestamp(NIGHT_ONE)).date()
        for number in range(_WEEKS)
    ]
    turn = PLANS.index(plan)  # so that every format comes on every day
    keys = [
        f"votes/{plan.attribute}/{day}{_FORMATS[(turn + number) % len(_FORMATS)]}"
        for number, day in enumerate([*written, NIGHT_TWO])
    ]
    return [keys[number] for number in week]


def _dirtied(plan: Plan, rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Put among the rows others such as people and programs make, one thing wrong with each."""

    def picked(count: int, why: str, what: str) -> pd.DataFrame:
        some = rows.iloc[np.sort(rng.choice(len(rows), count, replace=False))]
        return some.assign(why=why, wrong=False, vote_id=some["vote_id"] + f"-{what}")

    itself = picked(3, message("self_comparison"), "self")
    pieces = [
        rows,
        picked(6, "", "skip").assign(outcome="skip"),
        picked(5, message("unknown_outcome"), "outcome").assign(outcome="left one"),
        picked(4, message("missing_item"), "lost").assign(item_b=None),
        itself.assign(item_b=itself["item_a"]),
    ]
    if plan.noun != "slogan":  # without features a new item is as good as any other
        new = picked(5, message("item_without_features"), "new")
        pieces.append(new.assign(item_a=f"{plan.noun}-new"))
    # An export that begins a little before the last one ended.
    dumps = rows["dump"].unique()
    again = rows[rows["dump"] == dumps[0]].tail(4)
    pieces.append(again.assign(why=message("repeated_vote_id"), wrong=False, dump=dumps[1]))
    return pd.concat(pieces).sort_values("time", kind="stable", ignore_index=True)
