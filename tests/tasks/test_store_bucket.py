"""A store in a bucket: pages, types, credentials, and a server that fails or does not answer."""

import os
import socket
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler

import pytest
from answering import answering
from refusals import refused
from storage import free_ports
from store_looks import keys, said

from tasks import bucket
from tasks.messages import message
from tasks.store import Exists, NotThere, Store, StoreError, Unreachable

pytestmark = pytest.mark.full


def every_call(store: Store):
    yield lambda: store.list("votes")
    yield lambda: store.read("a")
    yield lambda: store.create("a", b"x")
    yield lambda: store.replace("a", b"x")


def test_a_listing_of_many_pages_is_whole(s3_store, monkeypatch):
    monkeypatch.setattr(bucket, "_PAGE", 7)
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
        with refused(StoreError, "no_such_bucket", bucket="no-such-bucket") as error:
            call()
        said(error)


def test_a_wrong_secret_is_told_and_a_right_one_helps_at_once(s3_store, monkeypatch):
    right = os.environ["AWS_SECRET_ACCESS_KEY"]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret-of-some-length")
    for call in every_call(s3_store):
        with refused(StoreError, "access_denied") as error:
            call()
        assert error.value.fields["path"].startswith(s3_store.url)
        assert "a-wrong-secret" not in said(error)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", right)
    assert s3_store.list() == []


def test_missing_credentials_are_told(s3_store, monkeypatch):
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with refused(StoreError, "no_credentials") as error:
        s3_store.list()
    said(error)


def test_an_endpoint_where_nobody_listens_is_told_long_before_the_deadline(s3_store, monkeypatch):
    """An hour, in which this test would not end."""
    endpoint = f"http://127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with refused(Unreachable, "store_unreachable", endpoint=endpoint) as error:
        Store.at(s3_store.url, deadline=3600).read("a")
    said(error)


def test_a_server_that_never_answers_is_left_at_the_deadline(s3_store, monkeypatch):
    """A single attempt would wait for an hour."""
    monkeypatch.setitem(bucket._CONFIG, "read_timeout", 3600)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for call in every_call(Store.at(s3_store.url, deadline=0.3)):
            with refused(Unreachable, "no_answer_in_time", seconds=0.3) as error:
                call()
            said(error)


def test_a_server_that_never_answers_is_told_as_that_though_it_is_asked_again(
    s3_store, monkeypatch
):
    monkeypatch.setitem(bucket._CONFIG, "read_timeout", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with refused(Unreachable, "no_answer_in_time", seconds=2) as error:
            Store.at(s3_store.url, deadline=2).read("a")
    said(error)


class _BreaksOff(BaseHTTPRequestHandler):
    """Gives half an object, then the whole."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"0123456789" if self.asked > 1 else b"01234")


def test_a_read_that_breaks_off_is_tried_again(s3, monkeypatch):
    with answering(_BreaksOff) as place:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{place}")
        assert Store.at("s3://bucket", deadline=20).read("a") == b"0123456789"
    assert _BreaksOff.asked == 2


class _BusyThenSilent(BaseHTTPRequestHandler):
    """Says that it is busy, and nothing when it is asked again; one object it does not have."""

    asked = 0
    over = threading.Event()

    def do_GET(self) -> None:
        is_first = self.path.endswith("/none")
        type(self).asked += not is_first
        if self.asked > 1:
            self.over.wait(60)
            return
        self.send_response(404 if is_first else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_past_the_deadline_the_last_answer_is_told_though_it_is_tried_once_more(s3, monkeypatch):
    with answering(_BusyThenSilent) as place:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{place}")
        store = Store.at("s3://bucket", deadline=4)
        with pytest.raises(NotThere):
            store.read("none")  # a first call makes the client, which takes a while
        try:
            with refused(Unreachable, "store_failed", path="s3://bucket/a") as error:
                store.read("a")
        finally:
            _BusyThenSilent.over.set()
    assert error.value.fields["said"].startswith("503")
    said(error)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://me:hunter22@127.0.0.1:1", "endpoint_with_password"),
        ("127.0.0.1:8333", "endpoint_is_no_address"),
    ],
)
def test_an_endpoint_with_a_password_or_without_a_scheme_is_refused(
    s3_store, monkeypatch, url, code
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with refused(StoreError, code, name="AWS_ENDPOINT_URL") as error:
        s3_store.list()
    assert "hunter22" not in said(error)


def lossy(monkeypatch, *, landed: bool, times: int = 1):
    """Lose the answers to the first puts, which reached the store or did not."""
    real = bucket.Bucket._put
    lost: list[str] = []

    def put(self, key, data, seconds, **condition):
        if len(lost) < times:
            lost.append(key)
            if landed:
                real(self, key, data, seconds, **condition)
            raise Unreachable(message("store_failed", path=key, said="the answer was lost"))
        real(self, key, data, seconds, **condition)

    monkeypatch.setattr(bucket.Bucket, "_put", put)
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


@pytest.mark.parametrize("landed", [True, False])
def test_what_is_written_over_another_lands_though_its_answer_was_lost(
    s3_store, monkeypatch, landed
):
    s3_store.create("a", b"before")
    lost = lossy(monkeypatch, landed=landed)
    s3_store.replace("a", b"x")
    assert lost == ["a"]
    assert s3_store.read("a") == b"x"


def test_a_create_gives_up_in_the_end(s3_store, monkeypatch):
    monkeypatch.setattr(bucket, "_PAUSES", (0.01, 0.01, 0.01))
    lost = lossy(monkeypatch, landed=False, times=99)
    with refused(Unreachable, "store_failed", said="the answer was lost"):
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
