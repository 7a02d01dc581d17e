"""Attention between pieces -> attention and pairs between words."""

from collections.abc import Sequence

from nmt_cli.text.tokenizer import CONTROL_TOKENS, WORD_MARKER

Matrix = list[list[float]]


def words_of(pieces: Sequence[str]) -> list[list[int]]:
    """Return the indices of each word's pieces; words are what white space separates.

    Control tokens belong to no word, and neither does a marker that stands alone for a space.
    """
    words: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if piece in CONTROL_TOKENS:
            continue
        if piece.startswith(WORD_MARKER) or not words:
            words.append([])
        if piece != WORD_MARKER:
            words[-1].append(index)
    return [word for word in words if word]


def word_attention(
    attention: Matrix, source_pieces: Sequence[str], target_pieces: Sequence[str]
) -> Matrix:
    """Return how much each target word looks at each source word.

    A word gets what its pieces get together; a target word looks as its pieces do on average.

    Args:
        attention: [T, S] weights between pieces.
        source_pieces: S written pieces.
        target_pieces: T written pieces.
    """
    sources = words_of(source_pieces)
    return [
        [sum(attention[t][s] for t in target for s in source) / len(target) for source in sources]
        for target in words_of(target_pieces)
    ]


def word_pairs(attention: Matrix) -> list[tuple[int, int]]:
    """Return (source word, target word) for each target word: the source word it looks at most."""
    return [
        (max(range(len(row)), key=row.__getitem__), target)
        for target, row in enumerate(attention)
        if row
    ]
