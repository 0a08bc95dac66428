"""A store whose nights are killed by SIGKILL at one point after the other."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from commands import Done, Fault, runs_on
from judge import Bytes, champions_serve, inputs_as_given, no_secret
from nights_apart import Forked
from pipeline import PrefectApi
from sites import Site, site_at
from stored_votes import simulated

from tasks.lease import Record, held_by
from tasks.objects import hidden_name
from tasks.runs import names_of
from tasks.store import Store
from tasks.write import table_bytes

OLD, NEW = "smiling", "fresh"
LEASE, GRACE = 10.0, 1.0
MADE = simulated(n_votes=1000)
FRESH = simulated(n_votes=500, seed=1)


@dataclass(frozen=True)
class Kill:
    """Where the flow's process dies."""

    function: str
    about: str | None = None
    of_flow: bool = False
    """Whether a worker is there, which kills the flow that started it."""
    moved: bool = False
    """Whether the new champion of the old attribute serves by then."""
    when: str = "before"

    def fault(self, marks: Path) -> Fault:
        """As the command takes it."""
        do = "kill the flow" if self.of_flow else "kill"
        return Fault(self.function, do, marks, attribute=self.about, times=1, when=self.when)


@dataclass(frozen=True)
class Found:
    """What is found after a kill."""

    run: str
    champion: int | None
    scores: dict[Any, float]
    """By the champion of the old attribute."""
    n_versions: int
    n_records: int
    """Nights that ended, by their own account."""


@dataclass(frozen=True)
class Killed:
    """A night, the kills after it, and the night that ended well."""

    site: Site
    first: dict[Any, float]
    """Scores by the first champion."""
    kills: dict[str, Found]
    last: Done
    scores: dict[Any, float]
    """By the champion in the end."""
    n_fits: int
    """Of the old attribute, in all nights."""

    def states(self) -> list[dict[str, Any]]:
        """Flow runs and task runs, as Prefect shows them."""
        return runs_on(self.site.prefect.address, self.site.store.url)


def deliver_first(site: Site) -> None:
    """What the first night finds."""
    site.put("features/all.csv", table_bytes(MADE.features.reset_index(), "all.csv"))
    site.put(f"votes/{OLD}/1.csv", table_bytes(MADE.votes.head(500), "1.csv"))


def deliver_second(site: Site) -> None:
    """What comes after it."""
    site.put(f"votes/{OLD}/2.csv", table_bytes(MADE.votes.tail(500), "2.csv"))
    site.put(f"votes/{NEW}/1.csv", table_bytes(FRESH.votes, "1.csv"))


def new_site(place: Path, api: PrefectApi | None) -> Site:
    """One worker, and a lease that soon runs out."""
    return site_at(
        place,
        Store.at(place / "store"),
        api,
        URLR_WORKERS="1",
        URLR_LEASE=str(LEASE),
        URLR_LEASE_GRACE=str(GRACE),
    )


def clean_nights(site: Site) -> Bytes:
    """What both nights come to on a new site when nothing goes wrong."""
    try:
        for deliver in (deliver_first, deliver_second):
            deliver(site)
            done = site.night()
            assert done.code == 0, done.out
        return site.results()
    finally:
        site.command.close()


@dataclass(frozen=True)
class Kept:
    """A site after a first night, with more votes delivered, to which it can be put back."""

    site: Site
    place: Path
    scores: dict[Any, float]
    """By the first champion."""
    served: dict[str, int]

    def put_back(self) -> None:
        """Undo all that nights did since; files stay the files that others have open."""
        copy = _copy_of(self.place)
        for path in sorted(self.place.rglob("*"), reverse=True):
            if not os.path.lexists(copy / path.relative_to(self.place)):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for kept in sorted(copy.rglob("*")):
            path = self.place / kept.relative_to(copy)
            if kept.is_dir():
                path.mkdir(exist_ok=True)
            elif not path.exists() or path.read_bytes() != kept.read_bytes():
                path.write_bytes(kept.read_bytes())
        _count_anew(self.site.command.work / "urlr-registry" / "mlflow.db")
        self.site.served = dict(self.served)

    def killed(self, kill: Kill) -> Found:
        """What is found after a night that is killed there, once its lease has run out."""
        marks = Path(f"{self.place}.marks") / secrets.token_hex(4)
        done = self.site.night(faults=(kill.fault(marks),))
        assert done.code == -signal.SIGKILL, done
        return _found(self.site, done)


@contextmanager
def kept_after_a_night(place: Path, api: PrefectApi) -> Iterator[Kept]:
    """A site on which nights can be killed, each as if none had been before."""
    site = new_site(place, api)
    try:
        deliver_first(site)
        assert site.night().code == 0
        deliver_second(site)
        shutil.copytree(place, _copy_of(place), symlinks=True)
        yield Kept(site, place, _scores(site), dict(site.served))
    finally:
        site.command.close()


def _count_anew(database: Path) -> None:
    """Let readers of a SQLite file see that it was put back.

    They tell by the count of its changes, in the file's head, which another night after the same
    beginning may bring to the same number.
    """
    count = secrets.randbelow(2**31).to_bytes(4, "big")
    with database.open("r+b") as file:
        for place in (24, 92):  # the count, and the count that the rest of the head is of
            file.seek(place)
            file.write(count)


def _copy_of(place: Path) -> Path:
    return Path(f"{place}.kept")


@contextmanager
def killed_one_after_the_other(
    place: Path,
    api: PrefectApi,
    steps: Mapping[str, Kill],
    run_here: Callable[[Site], Site],
) -> Iterator[Killed]:
    """A first night, a kill at every step, and a night to its end.

    A night that is killed by its worker, and the last, are whole nights, others apart from Prefect.
    """
    site = new_site(place, api)
    whole = site.command
    try:
        deliver_first(site)
        done = run_here(site).night()
        assert done.code == 0, done.out
        first = _scores(site)
        deliver_second(site)
        apart = Forked(site.command.place, site.command.environment)
        kills = {}
        for number, (step, kill) in enumerate(steps.items()):
            site.command = whole if kill.of_flow else apart
            done = site.night(faults=(kill.fault(place / f"kill-{number}"),))
            assert done.code == -signal.SIGKILL, (step, done)
            kills[step] = _found(site, done)
        _leave_half_written(site, kills[step].run)
        site.command = whole
        last = site.night()
        yield Killed(site, first, kills, last, _scores(site), _n_fits(site))
    finally:
        whole.close()


def _leave_half_written(site: Site, run: str) -> None:
    """What a night leaves that dies in the midst of a write, which none here does."""
    for folder in (f"runs/{run}", "report", "lease"):
        key = f"{folder}/{hidden_name()}"
        site.store.replace(key, b"half of it")
        when = time.time() - LEASE - GRACE
        os.utime(Path(site.store.url) / key, (when, when))


def _n_fits(site: Site) -> int:
    """Runs that fitted the old attribute: each fit writes files of its own."""
    found = (one.key.split("/") for one in site.store.list("runs"))
    return len({key[1] for key in found if key[2:4] == ["attributes", OLD]})


def _found(site: Site, done: Done) -> Found:
    """What a killed night left, once its lease has run out."""
    champions_serve(site)
    inputs_as_given(site)
    no_secret(site, done)
    _let_time_pass(site)
    champion = site.registry.champion(OLD)
    return Found(
        run=names_of(site.store)[0],
        champion=None if champion is None else champion.number,
        scores=_scores(site),
        n_versions=len(site.registry.versions(OLD)),
        n_records=len([one for one in site.store.list("runs") if one.key.endswith("/run.json")]),
    )


def _let_time_pass(site: Site) -> None:
    """Bring the lease of a night that was killed to its end."""
    key = max(one.key for one in site.store.list("lease") if one.key.endswith(".json"))
    held = Record.from_bytes(site.store.read(key))
    over = datetime.now(UTC) - timedelta(seconds=2 * GRACE)
    site.store.replace(key, replace(held, expires=over).to_bytes())
    assert held_by(site.store, grace=GRACE) is None


def _scores(site: Site) -> dict[Any, float]:
    champion = site.registry.champion(OLD)
    assert champion is not None
    scores = site.registry.fetch(champion).scores
    return dict(zip(scores["item"], scores["score"], strict=True))
