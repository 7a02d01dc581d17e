"""A training corpus encoded by many processes, each a share of its examples.

The examples of a run have numbers, through all corpora in the order of the configuration. A share
is a range of them, and becomes a part of the encoded split (see `parts.py`): a folder of the same
files, of fewer examples. Only the corpora that reach into the range are read, from their beginning
to its end. `shards.encode_corpora` joins the parts.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from nmt_cli.parts import Part, Share
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.shards import FORMAT, Encoder, made_of, num_blank, write_split
from nmt_cli.text.vocabulary_cache import FileHashes, corpus_fingerprint


def split_name(corpora: Corpora, encoder: str, split: str, hashes: FileHashes) -> str:
    """Return what an encoded split is called; another text or encoder gives another name.

    `encoder` is the fingerprint of the encoder.
    """
    settings = corpora.settings | {
        "corpora": [c.model_dump(exclude={"weight"}) for c in getattr(corpora.config.data, split)],
        "encoder": encoder,
        "format": FORMAT,
    }
    return f"{split}-{corpus_fingerprint(corpora.files(split), settings, hashes)[:16]}"


def encode_share(
    corpora: Corpora,
    counts: list[int],
    encoder: Encoder,
    folder: Path,
    share: Share,
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> bool:
    """Encode a share of the training text as a part of `folder`; return False if it is there.

    Args:
        corpora: The text.
        counts: How many examples each training corpus has.
        encoder: What encodes it.
        folder: The encoded split, which the parts will become; called as `split_name` says.
        share: Which share.
        on_progress: Called with the number of examples encoded so far.

    Raises:
        DataError: A text file cannot be read, or the part cannot be written.
    """
    first, end = share.range_of(sum(counts))
    facts = {**made_of(folder), "lines": [first, end, sum(counts)]}
    part = Part(folder, share, facts, range(first, end))
    if folder.exists() or part.is_made:
        return False
    with part.filled() as temporary:
        examples = _of_range(corpora.iter_corpora("train"), counts, first, end)
        write_split(examples, encoder, temporary, on_progress)
        num_blank(corpora, temporary)
    return True


def _of_range(
    corpora: Iterator[Iterator[Example]], counts: list[int], first: int, end: int
) -> Iterator[Iterator[Example]]:
    """Yield of each corpus the examples that are in a range of all.

    One that ends in the range is read to its very end, behind which its blank pairs are known.
    """
    stop = 0
    for examples, count in zip(corpora, counts, strict=True):
        start, stop = stop, stop + count
        if first < max(stop, 1) and min(start, stop - 1) < end:
            last = None if stop <= end else end - start
            yield itertools.islice(examples, max(0, first - start), last)
        else:
            yield iter(())
