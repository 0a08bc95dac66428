"""Reading files: no row lost, no id changed, every broken file named in one line."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.read import ReadError, match_ids, read_features, read_table, read_votes
from tasks.write import write_table
from urlr.spelling import cleaned
from urlr.votes.ballots import ballots_of
from urlr.votes.table import vote_table, with_clean_ids

IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1) | (
    st.sampled_from(["NA", "null", "None", "nan", "007", "1e5", "true", "-1", "=1+1", 'a"b', "a,b"])
    | st.sampled_from(["\r", "\n", "\r\n", " ", "'", "#N/A", "2024-01-01", "0x10", "\ufeff", "İ"])
)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=20)
EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def refused(path: Path, code: str, *, by=read_votes) -> dict[str, Any]:
    """The fields of the refusal, which is one plain line that names the file."""
    with pytest.raises(ReadError) as caught:
        by(path)
    text = str(caught.value)
    assert path.name in text
    assert text.isprintable()
    assert text.endswith(".")
    assert caught.value.code == code
    return caught.value.fields


def put(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---------------------------------------------------------------- ids survive


@EXAMPLES
@given(pairs=PAIRS, ending=st.sampled_from(["csv", "csv.gz", "jsonl", "ndjson.gz", "parquet"]))
def test_any_text_id_survives_our_own_files(pairs, ending, tmp_path):
    written = pd.DataFrame(pairs, columns=["winner", "loser"], dtype="str")
    write_table(written, tmp_path / f"votes.{ending}")
    read = read_votes(tmp_path / f"votes.{ending}")
    assert_read(read, pairs)


@EXAMPLES
@given(pairs=PAIRS)
def test_any_text_id_survives_a_csv_that_quotes_everything(pairs, tmp_path):
    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    lines = [f"{quoted(winner)},{quoted(loser)}" for winner, loser in pairs]
    read = read_votes(put(tmp_path / "votes.csv", "\n".join(["winner,loser", *lines])))
    assert_read(read, pairs)


def assert_read(votes, pairs):
    """Every row is there, each id in its one spelling."""
    for name, ids in zip(("winner", "loser"), zip(*pairs, strict=True), strict=True):
        place = {text: k for k, text in enumerate(dict.fromkeys(ids))}
        clean = cleaned(list(place))
        assert votes[name].tolist() == [clean[place[text]] for text in ids]


def test_csv_ids_are_text_and_empty_cells_missing(tmp_path):
    votes = read_votes(
        put(tmp_path / "v.csv", "winner,loser,weight,annotator\n007,NA,2,1\nnull,,0.5,\n")
    )
    assert votes["winner"].tolist() == ["007", "null"]
    assert votes["loser"].isna().tolist() == [False, True]
    assert votes["weight"].tolist() == [2.0, 0.5]
    assert votes["annotator"].tolist()[0] == "1"


def test_further_columns_may_be_read_as_ids_are(tmp_path):
    path = put(tmp_path / "v.csv", "model, judge,turn\n007,1e5,1\nNA,,2\n")
    votes = read_votes(path, text={"model", "judge"})
    assert votes["model"].tolist() == ["007", "NA"]
    assert votes["judge"].tolist()[0] == "1e5"
    assert votes["judge"].isna().tolist() == [False, True]
    assert votes["turn"].tolist() == [1, 2]
    pq.write_table(pa.table({"model": [2**53 + 1, None]}), tmp_path / "v.parquet")
    votes = read_votes(tmp_path / "v.parquet", text=["model"])
    assert votes["model"].tolist()[0] == 2**53 + 1
    path = put(tmp_path / "v.jsonl", f'{{"model": {2**53 + 1}}}\n{{"model": null}}\n')
    assert read_votes(path, text=["model"])["model"].tolist()[0] == 2**53 + 1


def test_json_lines_keep_their_types(tmp_path):
    lines = ['{"winner": 7, "loser": "7"}', "", '{"loser": "007", "winner": "x", "left": "a"}']
    votes = read_votes(put(tmp_path / "v.jsonl", "\n".join(lines)))
    assert votes["winner"].tolist() == [7, "x"]
    assert votes["loser"].tolist() == ["7", "007"]
    assert votes["left"].tolist()[1] == "a"


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_large_whole_numbers_stay_exact_beside_gaps(ending, tmp_path):
    ids = [2**53 + 1, None, 2**53 + 3]
    path = tmp_path / f"v.{ending}"
    if ending == "jsonl":
        put(path, "".join(json.dumps({"winner": k, "loser": 1}) + "\n" for k in ids))
    else:
        pq.write_table(pa.table({"winner": ids, "loser": [1, 1, 1]}), path)
    votes = read_votes(path)
    assert votes["winner"].dropna().tolist() == [2**53 + 1, 2**53 + 3]
    assert votes["winner"].isna().tolist() == [False, True, False]


def test_byte_order_mark_spaces_in_the_header_and_blank_lines_do_no_harm(tmp_path):
    votes = read_votes(put(tmp_path / "v.csv", b"\xef\xbb\xbfwinner, loser\r\na,b\r\n\r\nc,d\r\n"))
    assert votes[["winner", "loser"]].to_dict("list") == {"winner": ["a", "c"], "loser": ["b", "d"]}


def test_line_breaks_inside_quotes_begin_no_row_and_are_no_part_of_the_id(tmp_path):
    votes = read_votes(put(tmp_path / "v.csv", 'winner,loser\n"a\nb","c""d"\n'))
    assert votes[["winner", "loser"]].to_numpy().tolist() == [["ab", 'c"d']]


def test_binary_ids_of_old_parquet_writers_are_text(tmp_path):
    pq.write_table(pa.table({"winner": [b"a"], "loser": [b"b"]}), tmp_path / "v.pq")
    assert read_votes(tmp_path / "v.pq").iloc[0, :2].tolist() == ["a", "b"]


def test_a_named_index_stored_by_pandas_is_the_item_column(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(["a", "b"], name="item"))
    frame.to_parquet(tmp_path / "f.parquet")
    assert read_features(tmp_path / "f.parquet")["item"].tolist() == ["a", "b"]


def test_row_numbers_stored_by_pandas_are_no_feature(tmp_path):
    frame = pd.DataFrame({"item": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}).iloc[[0, 2]]
    frame.to_parquet(tmp_path / "f.parquet")
    assert read_features(tmp_path / "f.parquet").columns.tolist() == ["item", "x"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_embeddings_are_read_as_lists(ending, tmp_path):
    frame = pd.DataFrame({"item": ["a", "b"], "embedding": [[1.0, 2.0], [3.0, 4.0]]})
    write_table(frame, tmp_path / f"f.{ending}")
    read = read_features(tmp_path / f"f.{ending}")
    assert [list(row) for row in read["embedding"]] == [[1.0, 2.0], [3.0, 4.0]]


# ---------------------------------------------------------------- matching ids


def votes_of(*ids) -> pd.DataFrame:
    return pd.DataFrame({"winner": list(ids), "loser": list(reversed(ids))})


def features_of(*ids) -> pd.DataFrame:
    return pd.DataFrame({"item": list(ids), "x": range(len(ids))})


def test_decimal_texts_become_whole_numbers_beside_whole_numbers():
    votes, _ = match_ids(votes_of("1", "-20"), features_of(1, -20))
    assert votes["winner"].tolist() == [1, -20]
    assert votes["loser"].dtype == np.int64
    _, features = match_ids(votes_of(1, 20), features_of("1", "20"))
    assert features["item"].tolist() == [1, 20]


@pytest.mark.parametrize("odd", ["007", "x", "1.5", "+1", "１", "1_0", "-0", "9" * 30])
def test_one_id_that_is_no_plain_decimal_leaves_all_as_they_are(odd):
    votes, features = match_ids(votes_of("1", odd), features_of(1, 2))
    assert votes["winner"].tolist() == ["1", odd]
    assert features["item"].tolist() == [1, 2]


@pytest.mark.parametrize("odd", ["20.0", " 20", "20\ufeff"])
def test_stray_signs_do_not_hinder_matching(odd):
    votes, _ = match_ids(with_clean_ids(votes_of("1", odd)), features_of(1, 20))
    assert votes["winner"].tolist() == [1, 20]


def test_text_beside_text_stays_text():
    votes, features = match_ids(votes_of("1", "2"), features_of("1", "2"))
    assert votes["winner"].tolist() == ["1", "2"]
    assert features["item"].tolist() == ["1", "2"]


def test_missing_and_blank_ids_do_not_hinder_matching_and_stay():
    votes, _ = match_ids(votes_of("1", None, "2"), features_of(1, 2))
    assert votes["winner"].dropna().tolist() == [1, 2]
    votes, _ = match_ids(votes_of("1", " ", "2"), features_of(1, 2))
    assert votes["winner"].tolist() == [1, "", 2]


def test_repeated_columns_are_left_for_the_method_to_refuse():
    votes = pd.DataFrame([["1", "2", "3"]], columns=["winner", "loser", "winner"])
    assert match_ids(votes, features_of(1))[0] is votes


# ---------------------------------------------------------------- broken files


def test_unknown_ending_lists_the_known_ones(tmp_path):
    endings = refused(put(tmp_path / "votes.xlsx", "x"), "unknown_format")["endings"]
    assert all(ending in endings for ending in (".csv", ".csv.gz", ".parquet", ".pq", ".jsonl"))


def test_missing_file(tmp_path):
    refused(tmp_path / "v.csv", "no_such_file")


def test_directory(tmp_path):
    (tmp_path / "v.csv").mkdir()
    refused(tmp_path / "v.csv", "directory_not_file")


def test_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = put(tmp_path / "v.csv", "winner,loser\na,b\n")
    path.chmod(0)
    if os.geteuid() == 0:  # root may read everything

        def forbidden(self):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_bytes", forbidden)
    refused(path, "may_not_be_read")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet"])
def test_file_of_zero_bytes(ending, tmp_path):
    refused(put(tmp_path / f"v.{ending}", b""), "no_bytes_in_file")


@pytest.mark.parametrize("content", [b"\n\n  \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_blank_file(content, ending, tmp_path):
    refused(put(tmp_path / f"v.{ending}", content), "no_text_in_file")


@pytest.mark.parametrize("header", ["winner,loser", "winner,loser\n", "winner,loser\r\n\r\n"])
def test_header_only(header, tmp_path):
    refused(put(tmp_path / "v.csv", header), "no_votes_in_file")
    path = put(tmp_path / "f.csv", header.replace("winner", "item"))
    refused(path, "no_items_in_file", by=read_features)


def test_parquet_without_rows(tmp_path):
    pq.write_table(pa.table({"winner": pa.array([], pa.string())}), tmp_path / "v.parquet")
    refused(tmp_path / "v.parquet", "no_votes_in_file")


def test_cut_off_gzip(tmp_path):
    whole = gzip.compress(b"winner,loser\n" + b"a,b\n" * 1000)
    refused(put(tmp_path / "v.csv.gz", whole[:-20]), "damaged_gzip")


def test_damaged_gzip(tmp_path):
    whole = bytearray(gzip.compress(b"winner,loser\n" + os.urandom(1000)))
    whole[200] ^= 255
    refused(put(tmp_path / "v.csv.gz", bytes(whole)), "damaged_gzip")


def test_gzip_names_and_contents_must_agree(tmp_path):
    refused(put(tmp_path / "v.csv.gz", "winner,loser\na,b\n"), "not_gzip")
    packed = gzip.compress(b"winner,loser\na,b\n")
    refused(put(tmp_path / "v.csv", packed), "gzip_by_another_name")


def test_parquet_without_footer(tmp_path):
    pq.write_table(pa.table({"winner": ["a"] * 100}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    refused(put(tmp_path / "v.parquet", whole[:-30]), "parquet_cut_off")


def test_damaged_parquet(tmp_path):
    pq.write_table(pa.table({"winner": ["a"] * 100}), tmp_path / "whole.parquet")
    whole = bytearray((tmp_path / "whole.parquet").read_bytes())
    whole[-60:-8] = b"\xff" * 52
    refused(put(tmp_path / "v.parquet", bytes(whole)), "damaged_parquet")


def test_csv_named_parquet_and_parquet_named_csv(tmp_path):
    found = refused(put(tmp_path / "v.parquet", "winner,loser\na,b"), "not_parquet")
    assert found["start"].startswith("winner,loser")
    pq.write_table(pa.table({"winner": ["a"]}), tmp_path / "v.csv")
    refused(tmp_path / "v.csv", "parquet_by_another_name")


def test_spreadsheet_named_csv(tmp_path):
    refused(put(tmp_path / "v.csv", b"PK\x03\x04rest"), "zip_or_spreadsheet")


def test_text_that_is_not_utf8_is_placed(tmp_path):
    path = put(tmp_path / "v.csv", "winner,loser\na,b\nMüller,c\n".encode("latin-1"))
    found = refused(path, "not_utf8")
    assert (found["value"], found["byte"], found["line"]) == (0xFC, 19, 3)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_nul_bytes_are_placed(ending, tmp_path):
    found = refused(put(tmp_path / f"v.{ending}", b"winner,loser\na\0,b\n"), "nul_byte")
    assert (found["byte"], found["line"]) == (15, 2)


def test_utf16_is_not_utf8(tmp_path):
    refused(put(tmp_path / "v.csv", "winner,loser\na,b\n".encode("utf-16")), "not_utf8")


@pytest.mark.parametrize("line", ["a", "a,b,c", "a,b,", '"a,b"', " "])
def test_ragged_lines_are_named(line, tmp_path):
    path = put(tmp_path / "v.csv", f'winner,loser\n"x\ny",z\na,b\n{line}\nc,d\n')
    assert refused(path, "uneven_row")["line"] == 5


def test_a_line_longer_than_the_header_is_not_taken_for_an_index(tmp_path):
    found = refused(put(tmp_path / "v.csv", "winner,loser\n1,a,b\n2,c,d\n"), "uneven_row")
    assert (found["cells"], found["line"], found["width"]) == (3, 2, 2)


@pytest.mark.parametrize(
    ("content", "line"),
    [('a,"b\nc,d\ne,f\n', 2), ('a,b\nc,"d\ne,"f"\ng,h\n', 3), ('a,"b"c\n', 2)],
)
def test_quotes_that_would_swallow_rows_are_refused(content, line, tmp_path):
    found = refused(put(tmp_path / "v.csv", "winner,loser\n" + content), "unpaired_quote")
    assert found["line"] == line


@pytest.mark.parametrize(("sign", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_are_named(sign, word, tmp_path):
    content = "winner,loser\na,b\n".replace(",", sign)
    assert refused(put(tmp_path / "v.csv", content), "separated_otherwise")["separator"] == word


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "invalid_json_at"),
        ("[1]", "not_an_object"),
        ("3", "not_an_object"),
        ("{'winner': 1}", "invalid_json_at"),
        ('{"winner": "\\ud800"}', "invalid_json"),
        ("[" * 99_999, "invalid_json"),
        ("9" * 5000, "invalid_json"),
    ],
)
def test_broken_json_lines_are_named(line, code, tmp_path):
    good = '{"winner": "a", "loser": "b"}'
    path = put(tmp_path / "v.jsonl", f"{good}\n\n{line}\n{good}\n")
    assert refused(path, code)["line"] == 3


def test_nested_ids_are_refused(tmp_path):
    path = put(tmp_path / "v.jsonl", '{"winner": ["a"], "loser": "b"}\n')
    assert refused(path, "list_as_id")["line"] == 1
    pq.write_table(pa.table({"winner": [["a"]], "loser": ["b"]}), tmp_path / "v.parquet")
    assert refused(tmp_path / "v.parquet", "nested_ids")["column"] == "winner"


def test_features_without_item_name_the_columns_found(tmp_path):
    path = put(tmp_path / "f.csv", "id,x,y\na,1,2\n")
    assert refused(path, "no_item_column", by=read_features)["found"] == "id, x, y"
    pd.DataFrame({"x": [1.0]}, index=["a"]).to_parquet(tmp_path / "f.parquet")
    found = refused(tmp_path / "f.parquet", "no_item_column", by=read_features)["found"]
    assert (found.code, found.fields) == ("nameless_index", {"found": "x"})


def test_a_number_column_spoilt_by_one_cell_is_not_ignored_in_silence(tmp_path):
    content = 'item,x,note\na,1,p\nb,"1,5",q\nc,2,7\nd,,r\n'
    found = refused(put(tmp_path / "f.csv", content), "text_among_numbers", by=read_features)
    assert (found["column"], found["rows"], found["cells"]) == ("x", 1, ["`1,5`"])


def test_rows_are_never_lost(tmp_path):
    lines = [f"a{k % 7},b{k % 5},{k}" for k in range(100_000)]
    read = read_table(put(tmp_path / "v.csv", "\n".join(["winner,loser,vote_id", *lines])))
    assert read["vote_id"].tolist() == [str(k) for k in range(100_000)]


def test_what_was_on_the_left_is_read_as_the_items_are(tmp_path):
    votes = read_votes(put(tmp_path / "v.csv", "winner,loser,Left\n007,3,007\n3,007,007\n"))
    assert votes["left"].tolist() == ["007", "007"]
    votes = read_votes(put(tmp_path / "w.csv", "winner,loser,left\n7,3,7\n3,7,a\n"))
    votes, _ = match_ids(votes, features_of(3, 7))
    assert votes["left"].tolist() == [7, "a"]
    assert ballots_of(vote_table(votes)).rows.side[0] == 1.0


def test_a_share_of_left_choices_in_another_table_stays_a_number(tmp_path):
    table = read_table(put(tmp_path / "people.csv", "annotator,left\n7,0.5\n"))
    assert table["left"].tolist() == [0.5]


def test_a_column_in_a_file_does_not_pass_for_the_mark_that_ids_were_read(tmp_path):
    votes = pd.DataFrame({"winner": ["a", " a"], "loser": ["b", "b"]})
    votes["respelled_ids"] = np.zeros(2, np.uint8)
    write_table(votes, tmp_path / "v.parquet")
    read = vote_table(read_votes(tmp_path / "v.parquet"))
    assert list(read.items) == ["a", "b"]
    assert read.unknown == ["respelled_ids_given"]
