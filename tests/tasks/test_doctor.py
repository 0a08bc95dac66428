"""Checks of `urlr doctor` one by one, where the whole command is not needed to see them."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dask_programs import dask_cluster

from tasks.doctor import CHECKS, Check, Finding, Known, examined, ok
from tasks.doctor.examining import Stamp
from tasks.doctor.finding import of_error
from tasks.doctor.installation import WHY, versions
from tasks.doctor.machine import fitting, free_space
from tasks.doctor.network import differing, unlike
from tasks.doctor.storage import difference, nothing_left, probed
from tasks.lease import Holder, taken
from tasks.messages import message
from tasks.settings import Settings, load_settings
from tasks.store import Store
from urlr.sentence import made

NOW = datetime(2026, 11, 15, tzinfo=UTC)
GIB = 2**30


def looked_at(name: str, known: Known) -> list[Finding]:
    """What one of the checks finds."""
    [check] = [one for one in CHECKS if one.name == name]
    return examined(check, known, waiting=lambda: None)


def settings(**given: object) -> Settings:
    return load_settings(**given)


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("URLR_"):
            monkeypatch.delenv(name)


@pytest.mark.full
def test_a_check_that_does_not_end_is_left_at_its_deadline_with_what_it_found():
    forever = threading.Event()

    def work(known: Known) -> Iterator[Finding]:
        yield ok(made("one thing", "one_thing", {}))
        forever.wait()

    found = examined(Check("it", work, 3.0, "kick it"), Known(), waiting=lambda: None)
    forever.set()
    assert [one.state for one in found] == ["ok", "problem"]
    assert (found[1].code, found[1].found.fields) == ("check_too_slow", {"seconds": 3.0})
    assert found[1].sentence() == f"{found[1].found}; kick it."


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(3), MemoryError()])
def test_whatever_a_check_raises_is_a_problem_of_that_check(error):
    def work(known: Known) -> Iterator[Finding]:
        yield ok(made("one thing", "one_thing", {}))
        raise error

    found = examined(Check("it", work, 5), Known(), waiting=lambda: None)
    assert [one.state for one in found] == ["ok", "problem"]
    assert found[1].code == "unexpected_error"
    assert found[1].found.fields["kind"] == type(error).__name__


def test_secrets_and_line_breaks_are_in_no_finding(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "top/secret")
    monkeypatch.setenv("PREFECT_API_KEY", "pnu_hidden")

    def work(known: Known) -> Iterator[Finding]:
        said = made("top/secret at http://me:pw@host\nx", "leak", {"of": "top/secret"})
        yield Finding("warning", said, "not pnu_hidden")

    [found] = examined(Check("it", work, 5), Known(), waiting=lambda: None)
    assert found.sentence() == r"*** at http://***@host\nx; not ***."
    assert (found.code, found.found.fields) == ("leak", {"of": "***"})


def test_a_check_left_behind_does_not_keep_the_process():
    script = (
        "import threading\n"
        "from tasks.doctor import Check, Known, examined\n"
        "check = Check('it', lambda known: threading.Event().wait(), 0.1)\n"
        "print(len(examined(check, Known(), waiting=lambda: None)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_what_to_do_is_what_an_error_says_last():
    found = of_error(made("a is; b is; fix it.", "broken", {"count": 2}), do="else")
    assert (found.found, found.do) == ("a is; b is", "fix it")
    assert (found.code, found.found.fields) == ("broken", {"count": 2})
    assert of_error(made("a is.", "broken", {}), do="else").sentence() == "a is; else."


def installed(place: Path, name: str, version: str, *wants: str) -> None:
    """Metadata of a package, as an installer writes it."""
    about = place / f"{name}-{version}.dist-info"
    about.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in wants]
    (about / "METADATA").write_text("\n".join(lines) + "\n")


def test_versions_that_do_not_fit_are_named_with_why(tmp_path, monkeypatch):
    installed(tmp_path, "fastapi", "0.155.0")
    installed(tmp_path, "botocore", "1.99.0")
    monkeypatch.syspath_prepend(tmp_path)
    own, others = versions(Known())
    assert (own.state, others.state) == ("problem", "warning")
    assert (own.code, others.code) == ("own_packages_do_not_fit", "other_packages_do_not_fit")
    assert "fastapi 0.155.0" in own.found.fields["misfits"]
    assert WHY["fastapi"] in own.found.fields["misfits"]
    assert "botocore 1.99.0 (aiobotocore" in others.found.fields["misfits"]
    assert WHY["botocore"] in others.found.fields["misfits"]
    assert own.do.code == others.do.code == "install_again"


def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch):
    installed(tmp_path, "urlr", "9.9", "no-such-package>=2", "numpy; python_version < '3'")
    monkeypatch.syspath_prepend(tmp_path)
    [found] = versions(Known())
    assert (found.state, found.code) == ("problem", "own_packages_do_not_fit")
    assert found.found.fields["packages"].code == "one_package"
    assert found.found.fields["version"] == "9.9"
    assert found.found.fields["misfits"] == "no-such-package missing (wanted >=2)"


@pytest.mark.parametrize(
    ("seconds", "state"),
    [
        *((0, "ok"), (32, "ok"), (33, "warning"), (302, "warning"), (303, "problem")),
        *((-31, "ok"), (-32, "warning"), (-301, "warning"), (-302, "problem")),
    ],
)
def test_clocks_may_differ_by_half_a_minute_and_must_not_by_five(seconds, state):
    """Writing took two seconds, and the store's time is without the part of a second."""
    stamp = Stamp(NOW, NOW + timedelta(seconds=2), NOW + timedelta(seconds=seconds))
    found = difference(stamp)
    assert found.state == state
    if state != "ok":
        assert found.code == ("clock_behind" if seconds > 0 else "clock_ahead")


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Without root's right to write everywhere, if the tests are run by root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


def test_a_read_only_directory_is_a_problem_though_it_can_be_listed(open_folder):
    store = Store.at(open_folder / "store")
    store.create("votes/smiling/1.csv", b"winner,loser\na,b\n")
    known = Known(settings=settings(store=store.url))
    assert [one.state for one in looked_at("store", known)] == ["ok", "ok"]
    known.stamp = None
    (open_folder / "store").chmod(0o555)
    with as_somebody_else():
        [found] = looked_at("store", known)
        assert [one.state for one in looked_at("votes", known)] == ["ok"]
        assert [one.state for one in looked_at("clock", known)] == ["warning"]
    assert found.state == "problem"
    assert found.code == "permission_denied"
    assert str(open_folder / "store") in found.found
    assert found.found.fields["what"].code == "cannot_write"
    assert f"{found.found}; {found.do}." == message("permission_denied", **found.found.fields)


def test_votes_that_cannot_be_read_are_a_problem_though_they_can_be_listed(open_folder):
    store = Store.at(open_folder / "store")
    store.create("votes/smiling/1.csv", b"winner,loser\na,b\n")
    (open_folder / "store/votes/smiling/1.csv").chmod(0)
    known = Known(settings=settings(store=store.url))
    assert [one.state for one in looked_at("store", known)] == ["ok", "ok"]
    with as_somebody_else():
        [found] = looked_at("votes", known)
    assert found.state == "problem"
    assert "1.csv" in found.found


def test_a_read_only_registry_is_a_problem(open_folder):
    known = Known(settings=settings(registry=str(open_folder / "registry")))
    assert [one.state for one in looked_at("registry", known)] == ["ok"]
    open_folder.chmod(0o555)
    with as_somebody_else():
        [found] = looked_at("registry", known)
    assert found.state == "problem"
    assert found.code == "permission_denied"


def test_what_a_lease_says_that_is_none_is_a_problem(tmp_path):
    store = Store.at(tmp_path)
    store.create("lease/00000001.json", b"no lease")
    known = Known(settings=settings(store=store.url), reached=True)
    [found] = looked_at("lease", known)
    assert (found.state, found.code) == ("problem", "not_a_lease")
    said = message("not_a_lease", path=found.found.fields["path"])
    assert f"{found.found}; {found.do}." == said


def test_a_night_at_work_is_told_with_its_run_and_is_no_problem(tmp_path):
    store = Store.at(tmp_path)
    known = Known(settings=settings(store=store.url), reached=True)
    with taken(store, Holder.here("tonight")):
        [found] = looked_at("lease", known)
    assert (found.state, found.code) == ("ok", "night_at_work")
    fields = found.found.fields
    assert (fields["run"], fields["process"]) == ("tonight", os.getpid())
    assert fields["host"] == socket.gethostname()
    assert [one.code for one in looked_at("lease", known)] == ["no_night_at_work"]


def test_a_probe_is_gone_afterwards_and_so_are_folders_made_for_it(tmp_path):
    place = tmp_path / "a" / "b"
    with nothing_left(place / "runs"):
        stamp, left = probed(Store.at(place), "runs")
    assert left == []
    assert stamp.before - timedelta(seconds=1) < stamp.modified < stamp.after + timedelta(seconds=1)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_were_there_or_are_used_meanwhile_stay(tmp_path):
    (tmp_path / "a").mkdir()
    with nothing_left(tmp_path / "a" / "b", tmp_path / "c"):
        (tmp_path / "a" / "b").mkdir()
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "somebody's").touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "c", "somebody's"]


def test_disks_are_told_once_and_little_space_is_a_warning(tmp_path):
    places = {"one": tmp_path / "not there yet", "other": tmp_path}
    assert free_space(places, least=0).found.endswith(" GiB for one, other")
    short = free_space(places, least=2**60)
    assert (short.state, short.code) == ("warning", "little_free")


@pytest.mark.parametrize(
    ("workers", "limit", "state", "do"),
    [
        (4, None, "ok", ""),
        (4, "2GiB", "ok", ""),
        (5, "2GiB", "warning", message("fewer_workers_or_less_memory", count=4)),
        (64, None, "problem", message("fewer_workers", count=16)),
    ],
)
def test_workers_must_fit_into_memory(workers, limit, state, do):
    found = fitting(workers, limit, machine=8 * GIB)
    assert (found.state, found.do) == (state, do)


def test_too_little_memory_for_a_worker_is_a_problem():
    [found] = looked_at("memory", Known(settings=settings(workers=1, worker_memory="1MiB")))
    assert (found.state, found.code) == ("problem", "worker_memory_too_small")


@pytest.mark.full
def test_a_cluster_is_asked_which_urlr_its_workers_have(tmp_path):
    with dask_cluster(tmp_path, ["--no-nanny"]) as elsewhere:
        known = Known(settings=settings(dask_address=elsewhere.address))
        while (said := looked_at("dask", known))[0].code == "cluster_without_workers":
            assert said[0].state == "warning"
    assert [(one.state, one.code) for one in said] == [("ok", "cluster_fits")]
    assert said[0].found.fields["count"] == 1


def test_workers_with_another_urlr_or_none_are_a_problem():
    own = ("0.1.0", 2)
    assert list(unlike({"tcp://a": own}, own, [], [])) == []
    [found] = unlike({"tcp://a": own, "tcp://b": ("0.0.9", 1)}, own, ["tcp://b"], [])
    fields = found.found.fields
    assert (found.code, fields["count"], fields["total"]) == ("workers_with_other_urlr", 1, 2)
    assert (fields["release"], fields["method"], fields["address"]) == (*own, "tcp://b")
    assert fields["has"].fields == {"release": "0.0.9", "method": "1"}
    error = ImportError("urlr")
    [found] = unlike({"tcp://a": (error, error)}, own, [], ["tcp://a"])
    assert found.found.fields["has"].code == "has_no_urlr"


def test_workers_of_the_same_release_with_other_code_are_a_problem():
    own = ("0.1.0", 2)
    [found] = unlike({"tcp://a": own, "tcp://b": own}, own, ["tcp://b"], [])
    assert (found.state, found.found.fields["has"].code) == ("problem", "has_other_code")


def test_other_versions_in_a_cluster_are_a_warning():
    def seen(**packages: str) -> dict[str, dict[str, str]]:
        return {"packages": {"python": "3.11.7.final.0", "dask": "1", "numpy": "2"} | packages}

    same = {"client": seen(), "scheduler": seen(python="3.11.9.final.0"), "workers": {"a": seen()}}
    assert list(differing(same)) == []
    [found] = differing(same | {"workers": {"a": seen(), "b": seen(numpy="3")}})
    assert (found.state, found.code) == ("warning", "other_versions_in_cluster")
    assert found.found.fields == {"versions": ["numpy 3, here 2"]}
