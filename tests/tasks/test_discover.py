"""What is found in a store, on both kinds of it."""

import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest
from answering import answering
from refusals import refused
from stored_votes import put

from tasks.discover import DiscoverError, Source, check_formats, discover
from tasks.read import ReadError
from tasks.store import Store, StoreError

VOTES = "winner,loser\na,b\n"


def filled(store: Store, *keys: str) -> Store:
    for key in keys:
        put(store, key, VOTES)
    return store


def keys(sources) -> list[str]:
    return [source.key for source in sources]


def test_attributes_are_folders_and_may_be_nested(store):
    filled(
        store,
        "votes/smiling/b.csv",
        "votes/smiling/a.jsonl",
        "votes/interestingness/food/1.csv",
        "votes/interestingness/cars/1.csv",
        "votes/interestingness/1.csv",
        "votes/Größe/1.csv",
        "votesnot/other/1.csv",
    )
    found = discover(store)
    assert {one.attribute: keys(one.dumps) for one in found.attributes} == {
        "Größe": ["votes/Größe/1.csv"],
        "interestingness": ["votes/interestingness/1.csv"],
        "interestingness/cars": ["votes/interestingness/cars/1.csv"],
        "interestingness/food": ["votes/interestingness/food/1.csv"],
        "smiling": ["votes/smiling/a.jsonl", "votes/smiling/b.csv"],
    }
    assert found.refused == ()
    for one in found.attributes:
        for source in one.dumps:
            assert store.read(source.key, etag=source.etag) == VOTES.encode()
            assert source.size == len(VOTES)


def test_folders_of_days_divide_dumps_and_are_no_part_of_the_name(store):
    filled(
        store,
        "votes/smiling/day=2026-11-01/part-0.csv",
        "votes/smiling/day=2026-11-02/hour=3/part-0.csv",
        "votes/year=2026/smiling/part-0.csv",
        "features/part=1/a.csv",
    )
    (one,) = discover(store).attributes
    assert one.attribute == "smiling"
    assert len(one.dumps) == 3
    assert keys(one.features) == ["features/part=1/a.csv"]


def test_files_that_other_tools_keep_to_themselves_are_passed_over(store):
    filled(
        store,
        "votes/smiling/1.csv",
        "votes/smiling/_SUCCESS",
        "votes/smiling/.1.csv.crc",
        "votes/_started",
        "features/_meta.json",
    )
    found = discover(store)
    (one,) = found.attributes
    assert keys(one.dumps) == ["votes/smiling/1.csv"]
    assert one.features == ()
    assert found.refused == ()


def test_the_features_of_the_nearest_folder_count(store):
    filled(
        store,
        "votes/smiling/1.csv",
        "votes/video/food/1.csv",
        "votes/video/cars/1.csv",
        "features/all-1.csv",
        "features/all-2.csv",
        "features/video/1.csv",
        "features/video/cars/1.csv",
        "truth/smiling/order.csv",
        "truth/video/order.csv",
    )
    found = {one.attribute: one for one in discover(store).attributes}
    assert keys(found["smiling"].features) == ["features/all-1.csv", "features/all-2.csv"]
    assert keys(found["video/food"].features) == ["features/video/1.csv"]
    assert keys(found["video/cars"].features) == ["features/video/cars/1.csv"]
    assert keys(found["smiling"].truth) == ["truth/smiling/order.csv"]
    assert found["video/food"].truth == ()


def test_files_outside_of_any_folder_are_refused_with_a_line(store):
    filled(store, "votes/smiling/1.csv", "votes/lost.csv", "votes/day=1/also.csv")
    found = discover(store)
    assert [one.attribute for one in found.attributes] == ["smiling"]
    (outside,) = found.refused
    assert outside.attribute == ""
    assert outside.why.code == "of_no_attribute"
    assert outside.why.fields == {"files": ["votes/day=1/also.csv", "votes/lost.csv"]}


IMPOSSIBLE = [
    "x" * 250 + "/" + "y" * 50,
    "smiling ",  # a space at its end
    "video/ food",
    "smi\u200bling",  # an invisible sign
    "smi\u202eling",  # a sign that reverses text
]


def test_names_that_cannot_be_stored_are_refused_while_others_are_found(store):
    filled(store, "votes/smiling/1.csv", *(f"votes/{name}/1.csv" for name in IMPOSSIBLE))
    found = discover(store)
    assert [one.attribute for one in found.attributes] == ["smiling"]
    assert {one.attribute for one in found.refused} == set(IMPOSSIBLE)
    for one in found.refused:
        assert one.why.fields["attribute"] == one.attribute
        assert one.why.isprintable()


def test_a_folder_whose_name_is_no_text_is_refused_by_a_name_that_can_be_kept(tmp_path):
    store = Store.at(tmp_path)
    filled(store, "votes/smiling/1.csv", "votes/odd\udcff/1.csv".replace("\udcff", ""))
    (tmp_path / "votes" / "odd").rename(tmp_path / "votes" / "odd\udcff")
    (odd,) = discover(store).refused
    assert odd.attribute == r"odd\udcff"
    assert json.dumps(odd.attribute, ensure_ascii=False).encode()
    assert odd.why.isprintable()


REFUSED = "by a line"


@pytest.mark.full
@pytest.mark.parametrize("key", ["votes/odd//1.csv", "votes/odd\\sign/1.csv", "votes/\t/1.csv"])
def test_odd_keys_of_a_bucket_do_not_stop_the_others(s3_store, bucket, s3, key):
    """Whatever others wrote: an attribute is refused here, or cannot be read, by a line."""
    import boto3

    filled(s3_store, "votes/smiling/1.csv")
    client = boto3.client("s3", endpoint_url=s3.endpoint)
    client.put_object(Bucket=bucket, Key=f"some/where/{key}", Body=VOTES.encode())
    client.close()
    found = discover(s3_store)
    assert "smiling" in [one.attribute for one in found.attributes]
    assert len(found.attributes) + len(found.refused) == 2
    read = {one.attribute: refused_or_read(s3_store, *one.dumps) for one in found.attributes}
    assert read.pop("smiling") == VOTES
    assert set(read.values()) <= {VOTES, REFUSED}


def refused_or_read(store: Store, source: Source) -> str:
    try:
        return store.read(source.key, etag=source.etag).decode()
    except StoreError as error:
        return REFUSED if str(error).isprintable() else str(error)


def test_a_store_without_votes_is_an_error_that_says_where_to_put_them(store):
    filled(store, "votes/_SUCCESS", "features/all.csv", "runs/1/votes/smiling/1.csv")
    folder = store.address("votes/<attribute>/")
    with refused(DiscoverError, "no_votes_in_store", store=store.url, folder=folder):
        discover(store)


def test_only_some_attributes_may_be_asked_for(tmp_path):
    long = "x" * 200
    store = filled(
        Store.at(tmp_path), "votes/smiling/1.csv", "votes/young/1.csv", f"votes/{long}/1.csv"
    )
    found = discover(store)
    assert [one.attribute for one in found.only(["young"]).attributes] == ["young"]
    assert found.only(["young"]).refused == ()
    assert [one.attribute for one in found.only([long]).refused] == [long]
    with refused(DiscoverError, "no_votes_on_but_near", names=["smilling"], near=["smiling"]):
        found.only(["young", "smilling"])
    with refused(DiscoverError, "no_votes_on", names=["東京"]):
        found.only(["東京"])


def test_a_name_that_does_not_tell_the_format_is_an_error_that_names_it(tmp_path):
    store = filled(Store.at(tmp_path), "votes/smiling/1.csv", "votes/smiling/notes.txt")
    (one,) = discover(store).attributes
    where = store.address("votes/smiling/notes.txt")
    with refused(ReadError, "unknown_format", path=where):
        check_formats(one, store, error=ReadError)


@pytest.mark.full
def test_a_long_key_still_tells_its_format(s3_store):
    key = f"votes/smiling/{'/'.join(f'part={n:060d}' for n in range(6))}/1.csv"
    filled(s3_store, key)
    (one,) = discover(s3_store).attributes
    check_formats(one, s3_store, error=ReadError)
    assert len(s3_store.address(key)) < 300
    assert s3_store.address(key).endswith("1.csv")


class _Odd(BaseHTTPRequestHandler):
    """A bucket with keys that some stores allow and no directory can hold."""

    keys = ("votes/fine/1.csv", "votes/up/../x/1.csv", "votes//bare/1.csv", "votes/fine/")

    def do_GET(self) -> None:
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        listed = "".join(
            f"<Contents><Key>{key}</Key><Size>9</Size><ETag>e</ETag>"
            "<LastModified>2026-11-01T00:00:00Z</LastModified></Contents>"
            for key in self.keys
            if key.startswith(prefix)
        )
        body = f"<ListBucketResult>{listed}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.full
def test_a_key_that_climbs_is_refused_and_concerns_no_other(s3, monkeypatch):
    with answering(_Odd) as place:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{place}")
        found = discover(Store.at("s3://bucket", deadline=20))
    assert [one.attribute for one in found.attributes] == ["fine"]
    assert [len(one.dumps) for one in found.attributes] == [1]
    assert {one.attribute: (one.why.code, one.why.fields) for one in found.refused} == {
        "/bare": ("empty_name_part", {"attribute": "/bare"}),
        "up/../x": ("odd_name_part", {"attribute": "up/../x", "part": ".."}),
    }
