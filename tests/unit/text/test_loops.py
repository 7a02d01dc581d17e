"""Which texts count as a loop."""

import pytest

from nmt_cli.text.loops import has_loop


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
