"""What a run is trained on: files, pairs, languages, what was left out, and the fingerprint."""

from typing import TYPE_CHECKING

from nmt_cli.report.page import facts, table
from nmt_cli.text.batches import num_too_long

if TYPE_CHECKING:
    from nmt_cli.config.schema import CorpusConfig
    from nmt_cli.training.run import Prepared

_KIB = 1024.0


def data_card(prepared: "Prepared") -> str:
    """Return the data of a run as HTML; it does not change while the run goes on."""
    rows: list[tuple[str, ...]] = [("split", "files", "size", "pairs", "weight")]
    encoded = {"train": prepared.train.sizes, "dev": prepared.dev.sizes}
    for split in ("train", "dev", "test"):
        corpora: list[CorpusConfig] = getattr(prepared.config.data, split)
        sizes = encoded.get(split, ())
        is_known = len(sizes) == len(corpora)
        for index, corpus in enumerate(corpora):
            pairs = f"{sizes[index]:,}" if is_known else ""
            rows.append((split, *_row(prepared, corpus, pairs)))
    card = table(rows, kind="texts") + facts(_facts(prepared))
    prepared.train.release()
    return card


def _row(prepared: "Prepared", corpus: "CorpusConfig", pairs: str) -> tuple[str, ...]:
    files = prepared.corpora.files_of(corpus)
    size = sum(file.stat().st_size for file in files if file.is_file())
    return corpus.label, _size(size) if files else "", pairs, f"{corpus.weight:g}"


def _facts(prepared: "Prepared") -> dict[str, str]:
    config, train, words = prepared.config, prepared.train, prepared.vocabularies
    languages = " → ".join(filter(None, (config.data.source_lang, config.data.target_lang)))
    longest = config.model.max_length
    targets = config.facts.targets
    tokens = f"{words.source.vocab_size:,}"
    if not words.joint:
        tokens = f"{tokens} source and {words.target.vocab_size:,} target"
    return {
        "languages": languages or "not told",
        "licence": config.data.licence or "not told",
        "folder": config.data.dir,
        "train": f"{len(train):,} pairs, {int(train.source_offsets[-1]):,} source and "
        f"{int(train.target_offsets[-1]):,} {targets}",
        "dev": f"{len(prepared.dev):,} pairs",
        "left out of train": f"{_blank(prepared)}; "
        f"{num_too_long(train, longest):,} pairs longer than model.max_length ({longest:,} tokens)",
        "vocabulary": f"{tokens} tokens{', joint' if words.joint else ''}",
        "fingerprint": prepared.fingerprint,
    }


def _blank(prepared: "Prepared") -> str:
    counts = prepared.num_blank
    if len(counts) < len(prepared.config.data.train):
        return "pairs without text on a side (not counted)"
    return f"{sum(counts.values()):,} pairs without text on a side"


def _size(num_bytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if num_bytes < _KIB:
            return f"{num_bytes:.0f} {unit}"
        num_bytes /= _KIB
    return f"{num_bytes:.1f} GiB"
