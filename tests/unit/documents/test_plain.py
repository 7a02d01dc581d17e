"""Plain text in parts: its lines."""

from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.documents.plain import Page


@given(st.text(st.sampled_from("ab \t\r\n\u2028\x85"), max_size=30))
def test_lines_end_where_lines_of_files_do(text):
    page = Page(text)
    found = [line.text for line in page.texts]
    assert page.filled(found) == text
    assert found == [line.strip() for line in text.split("\n") if line.strip()]


def test_a_line_with_much_space_is_read_in_one_pass():
    assert [line.text for line in Page("a" + " " * 1_000_000).texts] == ["a"]
