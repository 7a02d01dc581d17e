"""Text that repeats itself: what a model writes that has lost its thread."""

_LOOP_WORDS, _LOOP_TIMES = 4, 4  # a loop: up to so many words, so many times in a row


def has_loop(text: str) -> bool:
    """Return whether one to four words come at least four times in a row."""
    words = text.split()
    for size in range(1, _LOOP_WORDS + 1):
        equal = 0  # words in a row that equal the one `size` before
        for word, before in zip(words[size:], words, strict=False):
            equal = equal + 1 if word == before else 0
            if equal == size * (_LOOP_TIMES - 1):
                return True
    return False
