"""The one judge that every case ends with.

(a) state and exit code tell the truth; (b) one plain line says which attribute, which object, what
is wrong and what to do; (c) every champion loads and predicts; (d) read = used + ties + skipped +
rejected; (e) inputs have not changed; (f) other attributes have the bytes of a clean run; (g) so
has everything when it is run again without the fault; (h) no secret is written or said anywhere;
(i) no process, port, lock or temporary file is left over.

Of a night apart from Prefect (`nights_apart.py`) it asks the same, but for Prefect's states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from commands import Done
from pipeline import only_progress
from sites import Site

from flows.nightly_command import CODES
from tasks.lease import held_by
from tasks.names import encoded
from tasks.objects import is_hidden
from tasks.results import Entry, Night
from urlr.ids import shown

Bytes = Mapping[str, Mapping[str, str]]
"""Digests of the results of a clean run, by attribute and file."""
STOPPED = 130
_SHOWN = 400


@dataclass(frozen=True)
class Seen:
    """What became of a case: a row of the table in docs/faults.md."""

    outcome: str
    saw: str
    """What the user saw."""


def judge_night(
    site: Site, done: Done, clean: Bytes, *, healthy: Iterable[str] = (), but: str = ""
) -> Night:
    """Judge a night that wrote its record, but for what each case says (see `judge_entry`).

    `but` is a file that may differ from the clean run's.
    """
    night = site.record
    assert night is not None, done
    _tells_the_truth(site, done, night)
    champions_serve(site)
    for entry in night.tonight():
        _rows_add_up(entry)
    inputs_as_given(site)
    _as_clean(site, night, clean, healthy, but)
    no_secret(site, done)
    nothing_left(site)
    return night


def judge_again(site: Site, done: Done, clean: Bytes, *, but: str = "") -> Night:
    """Judge the night after, without the fault: everything is as in a clean run."""
    night = judge_night(site, done, clean, healthy=clean, but=but)
    assert done.code == 0, done
    assert {one.attribute for one in night.tonight()} == set(clean)
    standing = site.registry.champions()
    for name in clean:
        entry = night.entries[name]
        if entry.verdict == "published":
            assert standing[name].key == entry.key, name
    return night


def judge_unrecorded(site: Site, done: Done, *, code: int = 1, told: bool = True) -> str:
    """Judge a night that could not begin or was stopped; gives its one plain line.

    Prefect must show that it is over, but where it could not be told (not `told`).
    """
    assert site.record is None, done
    assert done.code == code, done
    assert done.out == "", done
    line = done.complaint
    assert plain(line), line
    assert code == STOPPED or ";" in line, line
    if told and site.by_prefect:
        last = site.flow_runs()[-1]
        # One that was stopped may not have come so far; then it is the one before.
        over = {"CANCELLED", "CRASHED", "COMPLETED"} if code == STOPPED else {"FAILED"}
        assert last["state_type"] in over, last
    champions_serve(site)
    inputs_as_given(site)
    no_secret(site, done)
    return line.removeprefix("urlr: ")


def judge_entry(night: Night, done: Done, attribute: str, *, outcome: str, said: str) -> Seen:
    """Judge what was said of one attribute, by the pattern `said`."""
    entry = night.entries[attribute]
    assert entry.outcome == outcome, entry
    text = entry.reason
    if outcome == "published":
        notes = [note for note in night.notes if attribute in note]
        notes += [f"{n:,} rows {why}" for why, n in entry.reasons.items()]
        text = "; ".join([entry.reason, *notes])
        assert re.search(said, text), text
        return Seen("published", _shortened(text))
    assert plain(text), text
    assert re.search(said, text), text
    if outcome == "failed":
        assert ";" in text, f"it does not say what to do: {text}"
    assert f"{outcome} {shown(attribute, 80)}: {text.removeprefix('held: ')}" in done.out, done.out
    return Seen(outcome, _shortened(text))


def champions_serve(site: Site) -> None:
    """Every champion is whole, verified anew, and predicts for whoever loads it by MLflow.

    Whatever had one has one still: that of before, or a later one.
    """
    if not site.has_registry:
        return
    champions = site.registry.champions()
    for name, number in site.served.items():
        assert name in champions, f"{name} has no champion any more"
        assert champions[name].number >= number, name
    site.served = {name: one.number for name, one in champions.items()}
    for name, version in champions.items():
        site.registry.prove(name, version.number, version.digest, exact=True)
    predicted = site.predicted()
    assert set(predicted) == {encoded(name) for name in champions}
    assert all(predicted.values()), f"no score: {predicted}"


def inputs_as_given(site: Site) -> None:
    """Not a byte of votes, features or truth has changed."""
    now, given = site.inputs(), site.given
    assert {key for key in now.keys() | given.keys() if now.get(key) != given.get(key)} == set()


def no_secret(site: Site, *done: Done) -> None:
    """No secret in what was said, written, recorded or kept by Prefect."""
    said = "".join(one.out + one.err for one in done)
    assert not any(secret in said for secret in site.secrets)
    secrets = [secret.encode() for secret in site.secrets]
    found = [
        name
        for name, data in site.everything_written().items()
        if any(secret in data for secret in secrets)
    ]
    assert found == [], "a secret was written"


def nothing_left(site: Site) -> None:
    """No lock and no half-written file; that no process is left is seen as the command ends."""
    assert held_by(site.store) is None, "the store is still held"
    left = [str(path) for path in site.command.work.rglob("*") if _is_left(path.name)]
    left += [one.key for one in site.store._objects().half_written("")]
    temporary = Path(site.command.environment["TMPDIR"])
    left += [str(path) for path in temporary.rglob("*")]
    assert not left, f"files were left over: {left}"


def _is_left(name: str) -> bool:
    """Whether it is named like an object, or a file beside an output, that is not yet whole."""
    return is_hidden(name) or name.startswith((".new-", ".old-"))


def plain(line: str) -> bool:
    """Whether it is one line that people can read."""
    return (
        bool(line) and line.isprintable() and "Traceback" not in line and "<" + "class" not in line
    )


def _tells_the_truth(site: Site, done: Done, night: Night) -> None:
    assert CODES[night.state] == done.code, done
    tonight = night.tonight()
    failed = [one for one in tonight if one.outcome == "failed"]
    if night.state == "Completed":
        assert not failed
    if night.state == "Partial":
        assert 0 < len(failed) < len(tonight)
    if night.state == "Failed":
        assert len(failed) == len(tonight)
    assert "Traceback" not in done.out
    assert only_progress(done.err), done.err
    standing = {name: one.number for name, one in site.registry.champions().items()}
    for one in tonight:
        assert one.live == standing.get(one.attribute), one
        if one.outcome == "published":
            assert one.version == standing[one.attribute], one
    if site.by_prefect:
        last = site.flow_runs()[-1]
        assert last["state_name"] == night.state, last


def _rows_add_up(entry: Entry) -> None:
    rows = entry.rows
    if rows:
        assert rows["read"] == rows["used"] + rows["ties"] + rows["skipped"] + rows["rejected"]
        assert sum(entry.reasons.values()) == rows["skipped"] + rows["rejected"], entry


def _as_clean(site: Site, night: Night, clean: Bytes, healthy: Iterable[str], but: str) -> None:
    for name in healthy:
        assert night.entries[name].outcome in ("published", "unchanged", "held"), night.entries[
            name
        ]
        ours, theirs = site.files(night, name), clean[name]
        assert ours.keys() == theirs.keys(), name
        differ = [file for file in ours if ours[file] != theirs[file] and file != but]
        assert differ == [], (name, differ)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
