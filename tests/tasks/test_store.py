"""A store in a directory and one in a bucket do the same; what is refused says why in one line."""

import multiprocessing
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage import free_ports

from tasks import store as store_module
from tasks.objects import checked_key, redacted
from tasks.store import Changed, Exists, NotThere, Store, StoreError, Unreachable

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


def keys(store: Store, prefix: str = "") -> list[str]:
    return [found.key for found in store.list(prefix)]


def said(error: pytest.ExceptionInfo[StoreError]) -> str:
    """The text of an error, which is one plain line and carries no other error."""
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert error.value.__context__ is None
    assert error.value.__cause__ is None
    return text


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
        with pytest.raises(StoreError, match="the key `") as error:
            call()
        said(error)


@settings(max_examples=50, deadline=None)
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
    assert store.probe_conditional_writes()
    assert store.list() == []


def test_a_store_that_overwrites_is_found_out(store, monkeypatch):
    monkeypatch.setattr(Store, "create", Store.replace)
    assert not store.probe_conditional_writes()


def test_a_store_travels_as_its_address_alone(store):
    store.create("a", b"x")
    sent = pickle.dumps(store)
    assert os.environ.get("AWS_SECRET_ACCESS_KEY", "no secret").encode() not in sent
    assert pickle.loads(sent) == store
    assert pickle.loads(sent).read("a") == b"x"


def _child(store: Store) -> None:
    store.create("copies/one", store.read("original"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_makes_its_own_connection_and_its_work_is_seen_at_once(s3_store, method):
    s3_store.create("original", b"hello")
    assert keys(s3_store, "copies") == []
    child = multiprocessing.get_context(method).Process(target=_child, args=(s3_store,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    child.close()
    assert keys(s3_store, "copies") == ["copies/one"]
    assert s3_store.read("copies/one") == b"hello"


def test_a_secret_in_the_address_is_refused_and_not_repeated():
    for url in (
        "s3://key:hunter22@bucket/x",
        "s3://key@bucket",
        "https://u:hunter22@host/x",
        "s3://key:a/hunter22@bucket/x",
        "s3://key:hunter22 two@bucket",
    ):
        with pytest.raises(StoreError, match="user name or a password") as error:
            Store.at(url)
        assert "hunter22" not in said(error)


@pytest.mark.parametrize(
    "url", ["gs://bucket/x", "s3://", "s3://b", "s3://bucket/../x", "", "s3://a b/c"]
)
def test_an_address_of_no_store_is_refused(url):
    with pytest.raises(StoreError) as error:
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
    assert "top/secret" not in str(StoreError("it was top/secret+value."))


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
        with pytest.raises(StoreError, match="a file and a directory want one name") as error:
            write("a/b", b"")
        said(error)


def test_a_file_system_without_links_is_told(tmp_path, monkeypatch):
    def refuse(source: str, target: str) -> None:
        raise PermissionError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StoreError, match="cannot link files") as error:
        Store.at(tmp_path).create("a", b"")
    said(error)
    assert not Store.at(tmp_path).probe_conditional_writes()
    assert list(tmp_path.iterdir()) == []


# A bucket only.


def every_call(store: Store):
    yield lambda: store.list("votes")
    yield lambda: store.read("a")
    yield lambda: store.create("a", b"x")
    yield lambda: store.replace("a", b"x")


def test_a_listing_of_many_pages_is_whole(s3_store, monkeypatch):
    monkeypatch.setattr(store_module, "_PAGE", 7)
    wanted = [f"many/{number // 10}/{number:04d}" for number in range(50)]
    for key in wanted:
        s3_store.replace(key, b"")
    assert keys(s3_store, "many") == wanted


def test_a_bucket_without_a_prefix_is_a_store(bucket):
    store = Store.at(f"s3://{bucket}/")
    store.create("a/b", b"x")
    assert keys(store) == ["a/b"]
    assert keys(Store.at(f"s3://{bucket}/a")) == ["b"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("report/latest.html", "text/html; charset=utf-8"),
        ("votes-1.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("tau.csv", "text/csv; charset=utf-8"),
        ("summary.TXT", "text/plain; charset=utf-8"),
        ("night.json", "application/json"),
        ("plot.svg", "image/svg+xml"),
        ("plot.png", "image/png"),
        ("scores.parquet", "application/octet-stream"),
        ("html", "application/octet-stream"),
    ],
)
def test_an_object_is_served_as_what_its_name_says(s3, bucket, name, kind):
    store = Store.at(f"s3://{bucket}")
    store.create(f"new/{name}", b"1")
    store.replace(f"over/{name}", b"1")
    for folder in ("new", "over"):
        asked = {"Bucket": bucket, "Key": f"{folder}/{name}"}
        address = s3.client().generate_presigned_url("get_object", Params=asked)
        with urllib.request.urlopen(address) as answer:
            assert answer.headers["Content-Type"] == kind


def test_a_missing_bucket_is_told(s3):
    for call in every_call(Store.at("s3://no-such-bucket/x", deadline=10)):
        with pytest.raises(StoreError) as error:
            call()
        expected = "there is no bucket no-such-bucket; create it or check --store."
        assert said(error) == expected


def test_a_wrong_secret_is_told_and_a_right_one_helps_at_once(s3_store, monkeypatch):
    right = os.environ["AWS_SECRET_ACCESS_KEY"]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret-of-some-length")
    for call in every_call(s3_store):
        with pytest.raises(StoreError, match=r"access to s3://.* was denied; check AWS_") as error:
            call()
        assert "a-wrong-secret" not in said(error)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", right)
    assert s3_store.list() == []


def test_missing_credentials_are_told(s3_store, monkeypatch):
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreError, match="there are no credentials for s3://") as error:
        s3_store.list()
    said(error)


def test_an_endpoint_where_nobody_listens_is_told_soon(s3_store, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_ports(1)[0]}")
    began = time.monotonic()
    with pytest.raises(
        Unreachable, match=r"cannot reach the store at http://127\.0\.0\.1:"
    ) as error:
        s3_store.read("a")
    said(error)
    assert time.monotonic() - began < 10


def test_a_server_that_never_answers_is_left_at_the_deadline(s3_store, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for call in every_call(Store.at(s3_store.url, deadline=0.3)):
            began = time.monotonic()
            with pytest.raises(Unreachable, match="did not answer within") as error:
                call()
            said(error)
            assert time.monotonic() - began < 5


class _BreaksOff(BaseHTTPRequestHandler):
    """Gives half an object, then the whole."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"0123456789" if self.asked > 1 else b"01234")

    def log_message(self, *_: object) -> None:
        pass


def test_a_read_that_breaks_off_is_tried_again(s3, monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), _BreaksOff) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        try:
            assert Store.at("s3://bucket", deadline=20).read("a") == b"0123456789"
        finally:
            server.shutdown()
            thread.join()
    assert _BreaksOff.asked == 2


@pytest.mark.parametrize("url", ["http://me:hunter22@127.0.0.1:1", "127.0.0.1:8333"])
def test_an_endpoint_with_a_password_or_without_a_scheme_is_refused(s3_store, monkeypatch, url):
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(StoreError, match="AWS_ENDPOINT_URL") as error:
        s3_store.list()
    assert "hunter22" not in said(error)


def lossy(monkeypatch, *, landed: bool, times: int = 1):
    """Lose the answers to the first puts, which reached the store or did not."""
    real = store_module._Bucket._put
    lost: list[str] = []

    def put(self, key, data, seconds, **condition):
        if len(lost) < times:
            lost.append(key)
            if landed:
                real(self, key, data, seconds, **condition)
            raise Unreachable("the answer was lost.")
        real(self, key, data, seconds, **condition)

    monkeypatch.setattr(store_module._Bucket, "_put", put)
    return lost


@pytest.mark.parametrize("landed", [True, False])
def test_a_create_whose_answer_was_lost_succeeds(s3_store, monkeypatch, landed):
    lost = lossy(monkeypatch, landed=landed)
    s3_store.create("a", b"x")
    assert lost == ["a"]
    assert s3_store.read("a") == b"x"


def test_a_create_whose_answer_was_lost_to_another_writer_fails(s3_store, monkeypatch):
    s3_store.create("a", b"theirs")
    lossy(monkeypatch, landed=False)
    with pytest.raises(Exists):
        s3_store.create("a", b"ours")
    assert s3_store.read("a") == b"theirs"


def test_a_create_gives_up_in_the_end(s3_store, monkeypatch):
    monkeypatch.setattr(store_module, "_PAUSES", (0.01, 0.01, 0.01))
    lost = lossy(monkeypatch, landed=False, times=99)
    with pytest.raises(Unreachable, match="the answer was lost"):
        s3_store.create("a", b"x")
    assert len(lost) == 4


def test_two_buckets_are_two_stores(s3_store, new_bucket):
    other = Store.at(f"s3://{new_bucket()}/some/where")
    s3_store.create("a", b"x")
    assert other.list() == []


def test_nothing_is_left_open_at_the_end_of_a_process(s3_store):
    script = (
        "import sys\n"
        "from tasks.store import Store\n"
        "store = Store.at(sys.argv[1])\n"
        "store.create('a', b'x')\n"
        "assert store.read('a') == b'x'\n"
    )
    command = [sys.executable, "-W", "error", "-c", script, s3_store.url]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
