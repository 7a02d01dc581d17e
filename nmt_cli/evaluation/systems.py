"""What `nmt evaluate` runs: models with their settings, and what they make of examples."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.reading import load_config
from nmt_cli.evaluation.comparison import Result
from nmt_cli.evaluation.outputs import decode_examples, perplexity
from nmt_cli.evaluation.scores import diversity
from nmt_cli.search.chat_options import ChatOptions, ChatSettings
from nmt_cli.search.chat_session import ChatSession
from nmt_cli.search.loading import EngineOptions, load_engine, search_options
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import Encoder, build_encoder
from nmt_cli.text.vocabulary import Vocabularies

if TYPE_CHECKING:
    from nmt_cli.search.engine import Engine

_DECODED_AT_A_TIME = 250  # examples between two movements of the progress line


@dataclass(frozen=True)
class System:
    """A model that is ready, with its settings.

    Attributes:
        name: Its folder, or what is set differently.
        bundle: The model.
        engine: Searches.
        encoder: Its vocabulary and template.
        search: The search options.
        session: Replies, if it is a chat model.
    """

    name: str
    bundle: Bundle
    engine: "Engine"
    encoder: Encoder
    search: SearchOptions
    session: ChatSession | None


def load_system(
    name: str,
    bundle: Bundle,
    settings: Sequence[str],
    flags: Mapping[str, Any],
    options: EngineOptions,
    on_note: Callable[[str], None],
) -> System:
    """Load a model.

    Args:
        name: What to call it.
        bundle: The model.
        settings: Options such as "top_k=5"; of a chat model also those of a conversation.
        flags: Search options by name; None is not given.
        options: How and where it runs.
        on_note: See `load_engine`.

    Raises:
        ConfigError: There is no such option, or it cannot have that value.
        ModelFileError: The bundle is damaged.
    """
    vocabularies = Vocabularies.load(bundle.path)
    engine = load_engine(bundle, vocabularies, options, on_note=on_note)
    encoder = build_encoder(load_config(str(bundle.path / "config.yaml")).config, vocabularies)
    if not encoder.is_chat:
        search = search_options(bundle, settings, **flags)
        return System(name, bundle, engine, encoder, search, None)
    session = ChatSession(
        engine,
        vocabularies,
        search_options(bundle, **flags),
        ChatOptions.from_mapping(bundle.manifest.chat),
    )
    for setting in settings:
        ChatSettings(session).set(setting)
    return System(name, bundle, engine, encoder, session.search, session)


def run(system: System, examples: list[Example], on_progress: Callable[[int], None]) -> Result:
    """Return what a system makes of examples, and what only a model can tell.

    Args:
        system: The model.
        examples: One or more.
        on_progress: Called with the number of examples that are done.
    """
    outputs: list[str] = []
    seconds: list[float] = []
    started = time.perf_counter()
    for some in _outputs(system, examples):
        outputs += some
        seconds.append(time.perf_counter() - started)
        on_progress(len(outputs))
        started = time.perf_counter()
    facts: dict[str, Any] = {}
    if system.session is not None:
        seen = [seen_by(system, example) for example in examples]
        facts["perplexity"] = perplexity(system.engine, system.encoder, seen)
        facts |= asdict(diversity(outputs))
        facts["latency_ms"] = 1e3 * statistics.median(seconds)
    return Result(system.name, outputs, facts, _settings(system))


def _settings(system: System) -> dict[str, str]:
    """Return how a system makes its outputs, for people."""
    search = {name: getattr(system.search, name) for name in SearchOptions.names()}
    settings = {
        **model_facts(system.bundle),
        "engine": system.engine.description,
        "search": _listed(search),
    }
    if system.session is not None:
        settings["chat"] = _listed(asdict(system.session.options))
    return settings


def model_facts(bundle: Bundle) -> dict[str, str]:
    """Return what a model is, for people."""
    manifest = bundle.manifest
    return {
        "model": f"{bundle.path} ({manifest.name}, {manifest.parameters:,} parameters)",
        "trained": f"best at step {manifest.training.get('step', 0):,}, "
        f"fingerprint {manifest.training.get('fingerprint', 'not known')}",
    }


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items() if value is not None)


def seen_by(system: System, example: Example) -> Example:
    """Return an example with as much of its conversation as the system sees."""
    if system.session is None:
        return example
    return example._replace(source=example.source[-(system.session.options.history_turns + 1) :])


def _outputs(system: System, examples: list[Example]) -> Iterator[list[str]]:
    """Yield some outputs at a time; replies one by one, as in a conversation."""
    if system.session is None:
        for start in range(0, len(examples), _DECODED_AT_A_TIME):
            some = examples[start : start + _DECODED_AT_A_TIME]
            yield decode_examples(system.engine, system.encoder, some, system.search)
        return
    for example in examples:
        *system.session.turns, text = example.source
        yield [system.session.reply(text).text]
