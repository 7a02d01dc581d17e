"""Attention between pieces -> attention and pairs between words."""

from collections.abc import Sequence

from nmt_cli.text.tokenizer import CONTROL_TOKENS, WORD_MARKER

Matrix = list[list[float]]


def groups_of(pieces: Sequence[str]) -> list[list[int]]:
    """Return the indices of the pieces of each word, control token or extra space.

    Words are what white space separates. Every piece is in exactly one group.
    """
    groups: list[list[int]] = []
    for index, piece in enumerate(pieces):
        begins = piece.startswith(WORD_MARKER) or piece in CONTROL_TOKENS
        if begins or not groups or pieces[index - 1] in CONTROL_TOKENS:
            groups.append([])
        groups[-1].append(index)
    return groups


def words_of(pieces: Sequence[str]) -> list[list[int]]:
    """Return the indices of each word's pieces, without control tokens and markers of a space."""
    no_word = {*CONTROL_TOKENS, WORD_MARKER}
    groups = ([i for i in group if pieces[i] not in no_word] for group in groups_of(pieces))
    return [group for group in groups if group]


def word_attention(
    attention: Matrix, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> Matrix:
    """Return how much each target word looks at each source word.

    A word gets what its pieces get together; a target word looks as its pieces do on average.

    Args:
        attention: [T, S] weights between pieces.
        sources: Indices of each source word's pieces, from `words_of` or `groups_of`.
        targets: The same of the target. With all groups on both sides rows keep their sums.
    """
    return [
        [sum(attention[t][s] for t in target for s in source) / len(target) for source in sources]
        for target in targets
    ]


def word_pairs(attention: Matrix) -> list[tuple[int, int]]:
    """Return (source word, target word) for each target word: the source word it looks at most."""
    return [
        (max(range(len(row)), key=row.__getitem__), target)
        for target, row in enumerate(attention)
        if row
    ]
