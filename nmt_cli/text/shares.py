"""A training corpus encoded by many processes, each a share of its examples.

The examples of a run have numbers, through all corpora in the order of the configuration. A share
is a range of them, and becomes a part of the encoded split (see `parts.py`): a folder of the same
files, of fewer examples. Only the corpora that reach into the range are read, from their beginning
to its end. `shards.encode_corpora` joins the parts.

A store of the run has the parts under their names in the run folder: `shards/SPLIT.parts/2-of-8`,
and their records, put last. A part that was put there is not kept beside it.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

from nmt_cli.errors import DataError
from nmt_cli.parts import Part, Share, checked_records, folder_of
from nmt_cli.stores import Store
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.shards import FORMAT, Encoder, made_of, num_blank, parts_of, write_split
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
    store: Store | None = None,
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
        store: Of the run, where the part shall be; None is the folder of the parts.
        on_progress: Called with the number of examples encoded so far.

    Raises:
        DataError: A text file cannot be read, or the part cannot be written; or the store fails.
    """
    first, end = share.range_of(sum(counts))
    facts = {**made_of(folder), "lines": [first, end, sum(counts)]}
    part = Part(folder, share, facts, range(first, end))
    if store is None and folder.exists():
        return False
    if store is not None and _bring(store, folder, f"{share}.json"):
        _bring(store, folder, f"{share}/*")
    if is_new := not part.is_made:
        with part.filled() as temporary:
            examples = _of_range(corpora.iter_corpora("train"), counts, first, end)
            write_split(examples, encoder, temporary, on_progress)
            num_blank(corpora, temporary)
    if store is not None:
        _put(store, folder, part, is_new=is_new)
        part.remove()
    return is_new


def has_parts(store: Store, folder: Path) -> bool:
    """Return whether a store has a part of an encoded split."""
    return bool(store.list(f"{_prefix(folder)}/*.json"))


def bring_parts(store: Store, tell: Callable[[str], None], folder: Path) -> list[Path]:
    """Return all parts of an encoded split, when those that a store has are copied; or none.

    DataError: one is missing or damaged; copies of damaged ones are deleted.
    """
    contents: list[Path] = []
    split, _, _ = folder.name.partition("-")
    there = {PurePath(name).parent.name for name in store.list(f"shards/{split}-*/*.json")}
    if others := ", ".join(sorted(there - {folder_of(folder).name})):
        tell(f"{store.url}/shards: not used, as of another text or vocabulary: {others}")
    records = _bring(store, folder, "*.json")
    try:
        if records:
            checked_records(folder, made_of(folder))
            tell(f"{store.url}: bringing {len(records)} parts of the encoded text")
            contents = _bring(store, folder, "*/*")
        return parts_of(folder)
    except DataError as error:
        for copy in (*records, *contents):
            copy.unlink(missing_ok=True)
        error.args = (str(error).replace(str(folder), f"{store.url}/shards/{folder.name}"),)
        raise


def _bring(store: Store, folder: Path, pattern: str) -> list[Path]:
    """Copy files of parts that a store has, unless they are there; return the copies."""
    found = store.list(f"{_prefix(folder)}/{pattern}")
    copies = {folder.parents[1] / name: one for name, one in found.items()}
    store.get(copies)
    return [*copies]


def _put(store: Store, folder: Path, part: Part, *, is_new: bool) -> None:
    """Put a part into a store; one that is not new may be there."""
    above = _prefix(folder)
    record = f"{above}/{part.record.name}"
    files = {f"{above}/{part.path.name}/{file.name}": file for file in part.path.iterdir()}
    files[record] = part.record
    there = store.list(f"{above}/{part.path.name}/*") | store.list(record)
    sizes = {name: found.size for name, found in there.items()}
    if is_new or sizes != {name: file.stat().st_size for name, file in files.items()}:
        store.delete(record)
        store.put(files)


def _prefix(folder: Path) -> str:
    return f"shards/{folder_of(folder).name}"


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
