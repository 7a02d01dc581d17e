"""Attention between tokens -> attention and pairs between words."""

from collections.abc import Sequence

from nmt_cli.text.special_tokens import CONTROL_TOKENS, WORD_MARKER

Matrix = list[list[float]]


def groups_of(tokens: Sequence[str], tags: Sequence[str] = ()) -> list[list[int]]:
    """Return the indices of the tokens of each word (what white space separates) or control token.

    Every token is in exactly one group. `tags` are the model's tokens of languages.
    """
    alone = {*CONTROL_TOKENS, *tags}
    groups: list[list[int]] = []
    for index, token in enumerate(tokens):
        begins = token.startswith(WORD_MARKER) or token in alone
        if begins or not groups or tokens[index - 1] in alone:
            groups.append([])
        groups[-1].append(index)
    return groups


def words_of(tokens: Sequence[str], tags: Sequence[str] = ()) -> list[list[int]]:
    """Return the indices of each word's tokens, without control tokens and markers of a space."""
    no_word = {*CONTROL_TOKENS, *tags, WORD_MARKER}
    groups = ([i for i in group if tokens[i] not in no_word] for group in groups_of(tokens, tags))
    return [group for group in groups if group]


def word_attention(
    attention: Matrix, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> Matrix:
    """Return how much each target word looks at each source word, of [T, S] weights between tokens.

    A word gets what its tokens get together; a target word looks as its tokens do on average. Words
    are rows of token indices, from `words_of` or `groups_of`; with all groups rows keep their sums.
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
