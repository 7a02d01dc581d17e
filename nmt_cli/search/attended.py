"""What a model looks at: texts or ids -> the attention of every head of every layer.

Only the TensorFlow model gives the attention of every head; see `attention_by_kind` of its engine
and scorer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nmt_cli.bundle.folder import Bundle
from nmt_cli.errors import ConfigError
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.search.engine import Rows
from nmt_cli.search.labeller import Floats, Labelled, Labeller, texts_of
from nmt_cli.search.loading import EngineOptions, load_labeller, search_options
from nmt_cli.text.shards import Encoder
from nmt_cli.text.vocabulary import Vocabularies


@dataclass(frozen=True)
class Attended:
    """What a model looked at."""

    title: str  # the texts, on one line
    vocabularies: Vocabularies  # the model's
    # source ids and, where there is a decoder, target ids, all with `</s>`
    ids: Rows
    arrays: dict[str, Floats]  # kind of attention -> [L, H, T, S] weights; rows sum to one


def attended_pair(bundle: Bundle, source: str, target: str | None) -> Attended:
    """Return what a model looks at, for a pair; a missing target is the model's own output."""
    manifest, vocabularies = bundle.manifest, bundle.load_vocabularies()
    longest = manifest.model["max_length"]
    encoder = Encoder(
        vocabularies.source,
        vocabularies.target,
        is_chat=manifest.facts.has_turns,
        persona=manifest.chat.get("persona"),
        max_length=longest,
    )
    _check_not_blank("the source", source)
    rows = encoder.encode_sources([(source,)])
    if target is not None:
        _check_not_blank("the target", target)
        rows += encoder.encode_targets([target])
    for side, ids in zip(("source", "target"), rows, strict=False):
        if len(ids) > longest:
            raise ConfigError(f"the {side} has {len(ids)} tokens; the model reads {longest}")
    engine = _tensorflow_model(bundle)
    if target is None:
        rows.append(engine.search(rows, search_options(bundle, n_best=1))[0][0].ids)
    return attended_ids(bundle, vocabularies, (rows[0], rows[1]), engine)


def attended_ids(
    bundle: Bundle,
    vocabularies: Vocabularies,
    ids: tuple[Sequence[int], Sequence[int]],
    engine: Any,
) -> Attended:
    """Return what the model looks at, for source and target ids with `</s>`.

    Its engine is used if it is TensorFlow's; others cannot tell.
    """
    if not hasattr(engine, "attention_by_kind"):
        engine = _tensorflow_model(bundle)
    both = vocabularies.source, vocabularies.target
    title = " → ".join(side.decode(row) for side, row in zip(both, ids, strict=True))
    return Attended(title, vocabularies, ids, engine.attention_by_kind(*ids))


def attended_labels(bundle: Bundle, labeller: Labeller, found: Labelled) -> Attended:
    """Return what a classifier looks at, in a line, not blank, that got its labels."""
    texts = texts_of(found.source, bundle.manifest.classification["texts"])
    (ids,) = labeller.encode([texts])
    arrays = _tensorflow_model(bundle).attention_by_kind(ids)
    title = f"{' / '.join(texts)} → {', '.join(found.labels) or 'no label'}"
    return Attended(title, bundle.load_vocabularies(), [ids], arrays)


def attended_label_texts(bundle: Bundle, text: str, other: str | None) -> Attended:
    """Return what a classifier looks at, in one text or in two."""
    _check_not_blank("the text", text)
    if other is not None and bundle.manifest.classification["texts"] == 1:
        raise ConfigError("this model reads one text, not two")
    labeller = load_labeller(bundle, EngineOptions())
    (found,) = labeller.label_windows([[text if other is None else f"{text}\t{other}"]])
    return attended_labels(bundle, labeller, found)


def _check_not_blank(side: str, text: str) -> None:
    if not text.strip():
        raise ConfigError(f"{side} is blank: there is nothing to attend to")


def _tensorflow_model(bundle: Bundle) -> Any:
    bundle.load_weights()  # damaged files fail before the slow import
    quiet_tensorflow()
    from nmt_cli.search.tensorflow_engine import TensorFlowScorer, load_engine, load_model

    if bundle.manifest.facts.has_labels:
        return TensorFlowScorer(load_model(bundle))
    return load_engine(bundle)
