"""A store in a directory and one in a bucket do the same; what is refused says why in one line."""

import errno
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from store_looks import keys, said

from tasks.messages import message
from tasks.objects import checked_key, hidden_name, redacted
from tasks.settings import SettingsError
from tasks.store import Changed, Exists, NotThere, Store, StoreError

AWKWARD = ["Größe/ein bild.csv", "日本/語.jsonl", "a+b&c=d?e#f%20g.csv", "q'uote\"d.txt", "-/~.x"]
CLIMBING = [
    "../x",
    "a/../../x",
    "/etc/passwd",
    "a//b",
    "a/",
    "",
    ".",
    "a/./b",
    "a\\b",
    "a\nb",
    "\ud800",
]


def test_what_was_created_is_read_back(store):
    store.create("votes/smiling/a.csv", b"winner,loser\n")
    assert store.read("votes/smiling/a.csv") == b"winner,loser\n"


def test_an_empty_object_is_an_object(store):
    store.create("empty", b"")
    assert store.read("empty") == b""
    assert [found.size for found in store.list()] == [0]


def test_a_listing_is_recursive_and_sorted_and_of_one_directory(store):
    wanted = ["votes/a/1.csv", "votes/a/b/2.csv", "votes/a.csv", "votes/ab/3.csv"]
    for key in [*wanted, "votes2/4.csv", "other"]:
        store.create(key, key.encode())
    assert keys(store, "votes") == sorted(wanted)
    assert keys(store, "votes/a") == ["votes/a/1.csv", "votes/a/b/2.csv"]
    assert keys(store) == sorted([*wanted, "votes2/4.csv", "other"])
    assert keys(store, "votes/a.csv") == []


def test_a_missing_prefix_is_an_empty_listing(store):
    assert store.list("nothing/here") == []
    assert store.list() == []


def test_a_listing_says_size_and_time(store):
    store.create("a", b"12345")
    (found,) = store.list()
    assert found.size == 5
    assert abs(found.modified - datetime.now(UTC)) < timedelta(minutes=1)


def test_one_object_is_found_as_a_listing_shows_it(store):
    store.create("a/b", b"12345")
    (listed,) = store.list()
    found = store.find("a/b")
    assert (found.key, found.size, found.etag) == (listed.key, listed.size, listed.etag)
    assert abs(found.modified - listed.modified) < timedelta(seconds=1)
    with pytest.raises(NotThere) as error:
        store.find("a/c")
    said(error)


def test_whether_a_key_could_be_written_is_told_without_writing(store):
    assert store.may_write("votes/new.csv")
    assert store.list() == []


@pytest.mark.parametrize("key", AWKWARD)
def test_any_sign_may_stand_in_a_key(store, key):
    store.create(key, b"x")
    (found,) = store.list()
    assert found.key == key
    assert store.read(key, etag=found.etag) == b"x"
    store.remove(key)
    assert store.list() == []


@pytest.mark.parametrize("key", CLIMBING)
def test_a_key_that_climbs_is_refused_everywhere(store, key):
    for call in (
        lambda: store.read(key),
        lambda: store.create(key, b""),
        lambda: store.replace(key, b""),
        lambda: store.remove(key),
        *([lambda: store.list(key)] if key else []),
    ):
        with refused(StoreError, "bad_key", key=key) as error:
            call()
        said(error)


@settings(max_examples=50)
@given(st.text(st.sampled_from("a./\\~ ä\0"), max_size=8))
def test_a_key_accepted_stays_below_the_root(key):
    try:
        checked_key(key)
    except StoreError:
        return
    assert os.path.normpath(f"/store/{key}") == f"/store/{key}"


def test_a_missing_object_is_not_there(store):
    store.create("a/b", b"")
    for key in ("c", "a", "a/b/c", "x/y/z"):
        with pytest.raises(NotThere) as error:
            store.read(key)
        assert store.address(key) in said(error)


def test_an_object_that_changed_after_the_listing_is_told(store):
    store.create("a", b"old")
    (listed,) = store.list()
    assert store.read("a", etag=listed.etag) == b"old"
    store.replace("a", b"new")
    with pytest.raises(Changed) as error:
        store.read("a", etag=listed.etag)
    said(error)
    assert store.read("a") == b"new"
    assert store.list()[0].etag != listed.etag


def test_creating_the_same_again_is_no_error_and_other_bytes_are(store):
    store.create("a", b"one")
    store.create("a", b"one")
    with pytest.raises(Exists) as error:
        store.create("a", b"two")
    assert store.address("a") in said(error)
    assert store.read("a") == b"one"


def test_of_sixteen_creators_one_wins(store):
    start = threading.Barrier(16)

    def attempt(number: int) -> int | None:
        start.wait()
        try:
            store.create("prize", f"writer {number}".encode())
        except Exists:
            return None
        return number

    with ThreadPoolExecutor(16) as pool:
        winners = [n for n in pool.map(attempt, range(16)) if n is not None]
    assert len(winners) == 1
    assert store.read("prize") == f"writer {winners[0]}".encode()
    assert keys(store) == ["prize"]


def test_removing_is_done_once_or_twice(store):
    store.create("a/b", b"")
    store.remove("a/b")
    store.remove("a/b")
    store.remove("never/was")
    assert store.list() == []


def test_replacing_makes_and_changes(store):
    store.replace("a/b", b"1")
    store.replace("a/b", b"2")
    assert store.read("a/b") == b"2"


def test_both_kinds_honour_conditional_writes_and_the_probe_leaves_nothing(store):
    assert store.probe_conditional_writes("lease")
    assert store.list() == []


def test_a_store_that_overwrites_is_found_out(store, monkeypatch):
    monkeypatch.setattr(Store, "create", Store.replace)
    assert not store.probe_conditional_writes("lease")


@pytest.mark.full
def test_what_was_written_halfway_is_swept_and_nothing_else(tmp_path, s3_store):
    for store in (Store.at(tmp_path / "store"), s3_store):
        for key in ("runs/dead/a/b", "runs/other/c"):
            store.create(key, b"whole")
        store.replace(f"runs/dead/a/{hidden_name()}", b"ha")
        store.replace(f"runs/other/{hidden_name()}", b"ha")
        long_ago, soon = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
        assert store.sweep("runs/dead", before=long_ago) == 0
        assert store.sweep("runs/dead", before=soon) == 1
        assert store.sweep("runs/dead", before=soon) == 0
        assert keys(store) == ["runs/dead/a/b", "runs/other/c"]
        assert store.sweep("runs", before=soon) == 1
        assert store.sweep("nowhere", before=soon) == 0


def test_a_store_travels_as_its_address_alone(store):
    store.create("a", b"x")
    sent = pickle.dumps(store)
    assert os.environ.get("AWS_SECRET_ACCESS_KEY", "no secret").encode() not in sent
    assert pickle.loads(sent) == store
    assert pickle.loads(sent).read("a") == b"x"


ROOT = Path(__file__).parents[2]
COPIES = """
import multiprocessing, sys
from tasks.store import Store

def copy(store):
    store.create("copies/one", store.read("original"))

if __name__ == "__main__":
    store = Store.at(sys.argv[1])
    assert not list(store.list("copies"))
    child = multiprocessing.get_context(sys.argv[2]).Process(target=copy, args=(store,))
    child.start()
    child.join()
    assert child.exitcode == 0, child.exitcode
    assert [found.key for found in store.list("copies")] == ["copies/one"]
    assert store.read("copies/one") == b"hello"
"""


@pytest.mark.full
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_makes_its_own_connection_and_its_work_is_seen_at_once(
    s3_store, tmp_path, method
):
    """In a process of its own: a fork of this one has locks that threads of other tests held."""
    s3_store.create("original", b"hello")
    (tmp_path / "copies.py").write_text(COPIES)
    command = [sys.executable, tmp_path / "copies.py", s3_store.url, method]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=60)


def test_a_secret_in_the_address_is_refused_and_not_repeated():
    for url in (
        "s3://key:hunter22@bucket/x",
        "s3://key@bucket",
        "https://u:hunter22@host/x",
        "s3://key:a/hunter22@bucket/x",
        "s3://key:hunter22 two@bucket",
    ):
        with refused(StoreError, "address_with_password") as error:
            Store.at(url)
        assert "hunter22" not in said(error)


@pytest.mark.parametrize(
    ("url", "code", "fields"),
    [
        ("gs://bucket/x", "unknown_kind_of_store", {"scheme": "gs"}),
        ("s3://", "not_a_bucket", {"name": ""}),
        ("s3://b", "not_a_bucket", {"name": "b"}),
        ("s3://bucket/../x", "bad_key", {"key": "../x", "wrong": message("key_with_odd_part")}),
        ("", "store_is_no_path", {}),
        ("s3://a b/c", "not_a_bucket", {"name": "a b"}),
    ],
)
def test_an_address_of_no_store_is_refused(url, code, fields):
    with refused(StoreError, code, **fields) as error:
        Store.at(url)
    said(error)


def test_a_relative_path_is_kept_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Store.at("store").url == str(tmp_path / "store")
    assert Store.at(f"file://{tmp_path}/store/") == Store.at(tmp_path / "store")


def test_secrets_are_taken_out_of_any_text(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "top/secret+value")
    assert redacted("a top/secret+value b top%2Fsecret%2Bvalue c") == "a *** b *** c"
    assert redacted("at http://me:pw@host/x") == "at http://***@host/x"
    assert redacted("at s3://me:a/b+c@host/x") == "at s3://***@host/x"
    for harmless in ("at http://host:9000/a@b", "mail me@host of s3://bucket/a@b"):
        assert redacted(harmless) == harmless
    why = "it was top/secret+value"
    error = StoreError(message("store_failed", path="s3://me:pw@host/x", said=why))
    for sent in (error, pickle.loads(pickle.dumps(error))):
        assert "top/secret" not in str(sent)
        assert sent.code == "store_failed"
        assert sent.fields == {"path": "s3://***@host/x", "said": "it was ***"}


def test_what_an_address_asks_for_is_taken_out_of_any_text(monkeypatch):
    assert redacted("at http://host:9/x?token=abc&id=7#part now") == (
        "at http://host:9/x?token=***&id=***#*** now"
    )
    assert redacted("at tcp://host:9?abc") == "at tcp://host:9?***"
    assert redacted("(`http://host/?token=abc`).") == "(`http://host/?token=***`)."
    for harmless in ("at s3://bucket/what?/1#2.csv", "why? at http://host/a#"):
        assert redacted(harmless) == harmless
    said = "no answer: url: /bucket?token=abc"
    assert redacted(said) == said
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://host/?token=abc")
    assert redacted(said) == "no answer: url: /bucket?token=***"
    error = SettingsError(message("store_failed", path="http://host/?token=abc", said=""))
    assert error.fields["path"] == "http://host/?token=***"


# A directory only.


def test_no_half_written_file_is_ever_seen(tmp_path):
    store = Store.at(tmp_path)
    data = os.urandom(1 << 20)
    seen: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.extend(found.size for found in store.list())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(20):
        store.create(f"new/{number}", data)
        store.replace("same", data)
    done.set()
    watcher.join()
    assert set(seen) <= {len(data)}
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_a_file_left_by_a_crash_is_not_listed(tmp_path):
    (tmp_path / ".urlr-0123456789abcdef.tmp").write_bytes(b"half")
    (tmp_path / ".hidden-by-others").write_bytes(b"x")
    assert keys(Store.at(tmp_path)) == [".hidden-by-others"]


def test_links_are_followed_and_never_in_a_circle(tmp_path):
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "a.csv").write_bytes(b"x")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "votes").symlink_to(tmp_path / "else")
    (tmp_path / "else" / "round").symlink_to(tmp_path / "else")
    (tmp_path / "else" / "broken").symlink_to(tmp_path / "nowhere")
    assert keys(Store.at(tmp_path / "store")) == ["votes/a.csv"]


def test_a_file_in_the_way_of_a_directory_is_told(tmp_path):
    store = Store.at(tmp_path)
    store.create("a", b"")
    for write in (store.create, store.replace):
        with refused(StoreError, "file_and_directory", path=store.address("a/b")) as error:
            write("a/b", b"")
        said(error)


def test_a_full_disk_is_told_and_nothing_half_written_is_left(tmp_path, monkeypatch):
    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    store = Store.at(tmp_path)
    for write in (store.create, store.replace):
        with refused(StoreError, "disk_full", why="No space left on device") as error:
            write("a", b"")
        said(error)
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_links_is_told(tmp_path, monkeypatch):
    def refuse(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)
    with refused(StoreError, "files_cannot_be_linked") as error:
        Store.at(tmp_path).create("a", b"")
    said(error)
    assert not Store.at(tmp_path).probe_conditional_writes("lease")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
