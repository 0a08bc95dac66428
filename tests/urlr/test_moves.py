"""Items whose rank moved beyond the intervals of both rankings."""

import pandas as pd
from graphs import seeded
from refusals import refused

from urlr.diagnostics.moves import moved
from urlr.errors import VoteError


def ranked(*rows):
    """A table of scores from (item, rank_low, rank, rank_high), best first."""
    frame = pd.DataFrame(rows, columns=["item", "rank_low", "rank", "rank_high"])
    return frame.astype({"rank_low": "Int64", "rank_high": "Int64"})


def narrow(names):
    return ranked(*((name, k, k, k) for k, name in enumerate(names, 1)))


def test_overlapping_intervals_are_no_move():
    before = ranked(("a", 1, 1, 2), ("b", 1, 2, 3), ("c", 2, 3, 3))
    now = ranked(("c", 1, 1, 2), ("b", 1, 2, 3), ("a", 2, 3, 3))
    assert moved(now, before).item == ()
    assert moved(now, before).n_compared == 3


def test_the_farthest_comes_first_with_both_ranks():
    found = moved(narrow("dbcae"), narrow("abcde"))
    assert found.item == ("d", "a")
    assert (found.now, found.before) == ((1, 4), (4, 1))
    assert (found.now_low, found.before_high) == ((1, 4), (4, 1))
    assert (found.n_compared, found.n_new, found.n_gone) == (5, 0, 0)


def test_new_items_that_push_all_others_down_move_none_of_them():
    found = moved(narrow("xyzabc"), narrow("abc"))
    assert found.item == ()
    assert (found.n_compared, found.n_new, found.n_gone) == (3, 3, 0)


def test_items_that_left_lift_none_of_the_others():
    assert moved(narrow("abc"), narrow("xyabzc")).item == ()
    assert moved(narrow("abc"), narrow("xyabzc")).n_gone == 3


def test_a_move_among_new_items_is_counted_without_them():
    found = moved(narrow("xcyab"), narrow("abc"))
    assert found.item == ("c", "a", "b")
    assert (found.now, found.before) == ((1, 2, 3), (3, 1, 2))


def test_intervals_shrink_with_the_items_they_span():
    now = ranked(("a", 1, 1, 3), ("x", 1, 2, 3), ("b", 3, 3, 4), ("c", 4, 4, 4))
    before = ranked(("b", 1, 1, 1), ("c", 2, 2, 2), ("a", 3, 3, 3))
    found = moved(now, before)
    place = found.item.index("a")
    # Ranks 1 to 3 of all are ranks 1 to 2 of a, b and c.
    assert (found.now_low[place], found.now_high[place]) == (1, 2)


def test_items_without_intervals_are_not_compared():
    now = narrow("cba")
    now.loc[:, ["rank_low", "rank_high"]] = pd.NA
    found = moved(now, narrow("abc"))
    assert (found.item, found.n_compared) == ((), 0)


def test_the_order_of_rows_and_the_names_do_not_matter():
    now, before = narrow("dbcae"), narrow("abcde")
    rng = seeded()
    again = moved(now.sample(frac=1, random_state=rng), before.sample(frac=1, random_state=rng))
    assert again == moved(now, before)
    names = dict(zip("abcde", [7, 3, 1, 9, 2], strict=True))
    other = moved(now.assign(item=now["item"].map(names)), before.assign(item=[7, 3, 1, 9, 2]))
    assert other.item == tuple(names[item] for item in again.item)
    assert other.before == again.before


def test_there_and_back_is_the_same_move():
    there, back = moved(narrow("dbcae"), narrow("abcde")), moved(narrow("abcde"), narrow("dbcae"))
    assert set(there.item) == set(back.item)
    assert dict(zip(there.item, there.now, strict=True)) == dict(
        zip(back.item, back.before, strict=True)
    )


def test_nothing_in_common_or_nothing_at_all_is_no_move():
    assert moved(narrow("abc"), narrow("xyz")).n_compared == 0
    assert moved(narrow(""), narrow("")).item == ()


def test_an_item_named_twice_is_refused():
    with refused(VoteError, "scores_name_items_twice", count=1, n_items=3):
        moved(narrow("aba"), narrow("ab"))
