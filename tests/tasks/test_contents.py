"""Files that are known again by what they hold, though their ETags are new."""

import os
import shutil
from pathlib import Path

import pytest

from tasks.contents import Content, contents_of, recognised
from tasks.discover import Discovery, Inputs, Source
from tasks.store import Store

KEY = "votes/a/1.csv"
MOMENT = 1_700_000_000_123_456_789


@pytest.fixture
def here(tmp_path: Path) -> Store:
    store = Store.at(tmp_path / "store")
    store.create(KEY, b"winner,loser\nx,y\n")
    os.utime(Path(store.url, KEY), ns=(MOMENT, MOMENT))
    return store


def found(store: Store) -> Discovery:
    return Discovery((Inputs("a", (Source.of(store.find(KEY)),), (), ()),), ())


def named(store: Store, known=None, recorded=None) -> Source:
    """The file as a night names it."""
    discovery, _ = recognised(store, found(store), known or {}, recorded or {})
    return discovery.attributes[0].dumps[0]


def learnt(store: Store) -> dict[str, Content]:
    return contents_of(store, found(store).attributes, {})


def copied(store: Store, to: Path) -> Store:
    shutil.copytree(store.url, to)
    return Store.at(to)


def test_a_file_with_a_new_etag_and_the_same_bytes_keeps_its_first_one(here, tmp_path):
    first = here.find(KEY).etag
    known = learnt(here)
    Path(here.url, KEY).touch()
    _, again = recognised(here, found(here), known, {})
    touched = named(here, known)
    assert touched.etag == here.find(KEY).etag != first
    assert touched.first == first
    there = copied(here, tmp_path / "copy")
    assert named(there, known | again).first == first, "also after a second change of its ETag"


def test_a_file_of_the_same_size_with_other_bytes_is_another(here):
    known = learnt(here)
    Path(here.url, KEY).write_bytes(b"winner,loser\ny,x\n")
    os.utime(Path(here.url, KEY), ns=(MOMENT, MOMENT + 1))
    changed = named(here, known)
    assert changed.first == changed.etag != known[KEY].etag
    assert contents_of(here, found(here).attributes, known)[KEY].digest != known[KEY].digest


def test_files_with_known_etags_and_files_of_another_size_are_not_read(here, monkeypatch):
    known = learnt(here)

    def read(*given, **named):
        pytest.fail("read")

    monkeypatch.setattr(Store, "read_span", read)
    assert named(here, known).first == known[KEY].first
    assert contents_of(here, found(here).attributes, known) == {}
    Path(here.url, KEY).write_bytes(b"winner,loser\n")
    assert named(here, known).first == here.find(KEY).etag


def test_without_a_digest_a_copy_is_known_by_size_and_time(here, tmp_path):
    """As in records of the first urlr."""
    first = here.find(KEY).etag
    there = copied(here, tmp_path / "copy")
    assert there.find(KEY).etag != first
    assert named(there, recorded={KEY: ["1-2-3", first]}).first == first
    Path(there.url, KEY).touch()
    assert named(there, recorded={KEY: [first]}).first == there.find(KEY).etag


def test_without_a_digest_a_time_in_whole_seconds_proves_nothing(here, tmp_path):
    whole = MOMENT - MOMENT % 10**9
    os.utime(Path(here.url, KEY), ns=(whole, whole))
    first = here.find(KEY).etag
    there = copied(here, tmp_path / "copy")
    assert named(there, recorded={KEY: [first]}).first == there.find(KEY).etag != first
    assert named(here, recorded={KEY: [first]}).first == first


def test_what_cannot_be_read_has_no_content_and_is_another(here):
    known = learnt(here)
    Path(here.url, KEY).touch()
    listed = found(here)
    Path(here.url, KEY).unlink()
    assert contents_of(here, listed.attributes, {}) == {}
    assert recognised(here, listed, known, {}) == (listed, {})


def test_etags_of_a_bucket_are_taken_as_they_are(here):
    dump = Source(KEY, '"d41d8cd98f00b204e9800998ecf8427e"', 17)
    listed = Discovery((Inputs("a", (dump,), (), ()),), ())
    assert contents_of(here, listed.attributes, {}) == {}
    discovery, again = recognised(here, listed, {}, {KEY: ['"0"']})
    assert (discovery.attributes[0].dumps[0].first, again) == (dump.etag, {})
