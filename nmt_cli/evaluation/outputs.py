"""What a model makes of the examples of a corpus, and how good that is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nmt_cli.evaluation.scores import Score, diversity, scores_by_way
from nmt_cli.search.chat_session import has_loop
from nmt_cli.search.engine import Engine, Searcher
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.translator import Translator, one_line
from nmt_cli.text.corpus import Example
from nmt_cli.text.languages import by_way
from nmt_cli.text.shards import Encoder
from nmt_cli.text.tokenizer import Subwords

if TYPE_CHECKING:
    from nmt_cli.search.term_search import TermSearcher

_COLLAPSED = 0.2  # share of the outputs
_NUM_SAMPLES = 4  # outputs to look at
_MIN_OUTPUTS = 20  # below, a share says little
_MAX_LENGTH_RATIO = 3.0  # target tokens per source token, where the configuration sets no limit


@dataclass(frozen=True)
class Sample:
    """One decoded example for people to look at."""

    source: str
    output: str
    reference: str


def scoring_options(decode: Mapping[str, Any]) -> SearchOptions:
    """Return the search of a `decode` section as it is, but never sampled."""
    return replace(SearchOptions.from_mapping(decode), sample=False)


def bounded(options: SearchOptions) -> SearchOptions:
    """Return a search whose outputs are not much longer than sources: a young model rarely ends."""
    return replace(options, max_length_ratio=options.max_length_ratio or _MAX_LENGTH_RATIO)


def decode_examples(
    engine: Searcher,
    encoder: Encoder,
    examples: list[Example],
    options: SearchOptions,
    terms: "TermSearcher | None" = None,
) -> list[str]:
    """Return the model's output for each example's source, with a glossary if there is one."""
    if encoder.is_chat:
        sources = encoder.encode_sources([example.source for example in examples])
        found = engine.search(sources, options)
        return [one_line(encoder.target, hypotheses[0].ids) for hypotheses in found]
    translator = Translator(engine, encoder.vocabularies, terms=terms)
    outputs = [""] * len(examples)
    for (source, target), indices in by_way([example.way for example in examples]).items():
        lines = (examples[i].source[0] for i in indices)
        directed = replace(options, from_=source or options.from_, to=target or options.to)
        for i, translated in zip(indices, translator.translate(lines, directed), strict=True):
            outputs[i] = translated.text
    return outputs


def score_outputs(
    outputs: list[str], examples: list[Example], target: Subwords, language: str
) -> dict[str, Score]:
    """Return BLEU and chrF of outputs; references are normalised as the vocabulary does.

    Of several directions they are means, and each direction has its own beside them.
    """
    references = [target.normalise(example.target) for example in examples]
    return scores_by_way(outputs, references, [e.way for e in examples], language)


def perplexity(engine: Engine, encoder: Encoder, examples: Sequence[Example]) -> float | None:
    """Return exp(cross-entropy per token) of the references; None if all of them are too long."""
    sources, targets = encoder.encode_examples(examples)
    pairs = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if max(len(source), len(target)) <= engine.max_length
    ]
    rows = engine.score([source for source, _ in pairs], [target for _, target in pairs])
    num_tokens = sum(map(len, rows))
    return math.exp(-sum(map(sum, rows)) / num_tokens) if num_tokens else None


def collapse_warning(outputs: Sequence[str]) -> str | None:
    """Return what shows that a model has collapsed: many equal outputs, or many in a loop."""
    if len(outputs) < _MIN_OUTPUTS:
        return None
    found = diversity(outputs)
    if found.most_frequent_share > _COLLAPSED:
        same = f"{found.most_frequent_share:.0%} of the outputs are the same"
        return f"{same}: {found.most_frequent!r}"
    if found.loop_share > _COLLAPSED:
        loop = next(filter(has_loop, outputs))
        return f"{found.loop_share:.0%} of the outputs repeat themselves: {loop!r}"
    return None


def samples_of(outputs: list[str], examples: list[Example]) -> list[Sample]:
    """Return a few examples with their outputs; the same at each evaluation, to be followed."""
    count = min(_NUM_SAMPLES, len(examples))
    picked = [i * len(examples) // count for i in range(count)]
    return [Sample(" / ".join(examples[i].source), outputs[i], examples[i].target) for i in picked]
