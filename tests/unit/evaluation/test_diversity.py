"""How varied outputs are."""

import pytest

from nmt_cli.evaluation.scores import diversity, has_loop


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no no no no", True),
        ("no no no", False),
        ("x the dog the dog the dog the dog", True),
        ("the dog the dog the dog the cat", False),
        ("it a b c a b c a b c a b c d", True),
        ("a b c d a b c d a b c d a b c d", True),
        ("a b c d e " * 6, False),  # five words: a refrain
        ("", False),
        ("ha ha and ha ha and", False),
    ],
)
def test_a_loop_is_a_few_words_four_times_in_a_row(text, expected):
    assert has_loop(text) == expected
    assert has_loop(f"before {text} after") == expected


def test_diversity_of_outputs_counted_by_hand():
    found = diversity(["I do not know", "I do not know", "no no no no", "Yes"])
    assert found.distinct_1 == 6 / 13  # i do not know no yes
    assert found.distinct_2 == 4 / 13  # i-do do-not not-know no-no
    assert found.mean_words == 13 / 4
    assert (found.most_frequent, found.most_frequent_share) == ("I do not know", 0.5)
    assert found.loop_share == 0.25


def test_outputs_without_a_word_are_not_varied():
    found = diversity(["", " "])
    assert (found.distinct_1, found.distinct_2, found.mean_words) == (0, 0, 0)
