"""A bundle -> what searches or labels with it, on the engine and the device that were asked for.

An engine's library is imported when it is chosen: CTranslate2's takes 20 ms, TensorFlow seconds.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.folder import Bundle
from nmt_cli.errors import ConfigError, ModelFileError, did_you_mean
from nmt_cli.resources import available_cores
from nmt_cli.search.options import SearchOptions, read_settings
from nmt_cli.text.vocabulary import Vocabularies

if TYPE_CHECKING:
    from nmt_cli.search.engine import Engine
    from nmt_cli.search.labeller import Labeller, Scorer

ENGINES = ("auto", "ctranslate2", "tensorflow")
DEVICES = ("auto", "cpu", "gpu")
_MOST = {"threads": 512, "batch_tokens": 1 << 24}


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """How and where a model runs.

    Raises:
        ConfigError: There is no such engine or device, or a number is out of range.
    """

    # "ctranslate2", "tensorflow", or "auto" for the first of these that the bundle has
    engine: str = "auto"
    # CTranslate2's, such as "int8"; None is the one that the bundle chose
    number_format: str | None = None
    threads: int | None = None  # processor cores to use; None is all
    device: str = "auto"  # "cpu", "gpu", or "auto" for a GPU where there is one
    # source tokens searched at a time; None is the engine's own choice
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, choices in (("engine", ENGINES), ("device", DEVICES)):
            if (value := getattr(self, name)) not in choices:
                hint = did_you_mean(str(value), choices)
                wanted = f"--{name} must be {', '.join(choices)}"
                raise ConfigError(f"{wanted} (it is {value}).{hint}")
        for name, most in _MOST.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and 1 <= value <= most):
                option = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{option} must be 1 to {most:,} (it is {value!r})")

    @property
    def is_asked(self) -> bool:
        """Whether an engine or a number format was named."""
        return self.engine != "auto" or self.number_format is not None


def search_options(bundle: Bundle, settings: Sequence[str] = (), **changes: Any) -> SearchOptions:
    """Return the model's own search options with settings and changes, see `SearchOptions.asked`.

    Changes that are None are not given; the others take the place of settings of their name.

    Raises:
        ConfigError: There is no such option, it cannot have that value, or has no effect.
    """
    given = read_settings(settings, SearchOptions)
    given |= {name: value for name, value in changes.items() if value is not None}
    own = SearchOptions.from_mapping(bundle.manifest.decode)
    options = own.asked(given, is_ranked=bundle.backward is not None)
    if options.to or options.from_:
        bundle.manifest.known_languages.way(options.from_, options.to)  # or the error
    return options


def load_engine(
    bundle: Bundle,
    vocabularies: Vocabularies,
    options: EngineOptions,
    *,
    on_note: Callable[[str], None] = lambda _: None,
) -> "Engine":
    """Return an engine for a bundle; `on_note` is called with a text if a slower one is used.

    Raises:
        ConfigError: There is no such device, or the engine has no number formats.
        ModelFileError: The bundle is damaged, or lacks what the engine needs.
    """
    if bundle.backward is not None:
        from nmt_cli.search.reranking import Reranker

        backward = bundle.backward.load_vocabularies()
        return Reranker(
            load_engine(replace(bundle, backward=None), vocabularies, options, on_note=on_note),
            vocabularies,
            load_engine(bundle.backward, backward, options, on_note=on_note),
            backward,
        )
    engine = options.engine
    if bundle.partners:
        if options.is_asked and engine != "tensorflow" and options.number_format is None:
            raise ConfigError("an ensemble of models needs --engine tensorflow")
        engine = "tensorflow"
    elif not options.is_asked and not bundle.manifest.ctranslate2:
        on_note(
            f"{bundle.named} has no ctranslate2/ folder: using the slower TensorFlow engine "
            "(nmt export adds it)"
        )
        engine = "tensorflow"
    if engine == "tensorflow":
        return _tensorflow_engine(bundle, options)
    from nmt_cli.search.ctranslate2_engine import CTranslate2Engine

    return CTranslate2Engine(
        bundle.ctranslate2_folder(options.number_format),
        vocabularies,
        max_length=bundle.manifest.model["max_length"],
        device=_ctranslate2_device(options.device),
        threads=options.threads or 0,
        batch_tokens=options.batch_tokens,
    )


def load_labeller(bundle: Bundle, options: EngineOptions) -> "Labeller":
    """Return what gives labels with a classifier's bundle; CTranslate2 runs all of them."""
    from nmt_cli.search.labeller import CTranslate2Scorer, Labeller

    settings, longest = bundle.manifest.classification, bundle.manifest.model["max_length"]
    if not settings["labels"]:
        raise ModelFileError(
            f"{bundle.named}: is an encoder without labels",
            hint="train a classifier from it: nmt train my.yaml --from "
            + shlex.quote(bundle.named),
        )
    head = bundle.load_weights("head.")
    width, labels = bundle.manifest.model["d_model"], len(settings["labels"])
    shapes = {name: array.shape for name, array in head.items()}
    if shapes != {"head.kernel": (width, labels), "head.bias": (labels,)}:
        raise ModelFileError(f"{bundle.named}: its outputs are not those of its labels")
    scorer = CTranslate2Scorer(
        bundle.ctranslate2_folder(options.number_format),
        head,
        settings["pooling"],
        device=_ctranslate2_device(options.device),
        threads=options.threads or available_cores(),
    )
    return Labeller(scorer, bundle.load_vocabularies().source, settings, longest)


def described(running: "Engine | Scorer", bundle: Bundle, options: EngineOptions) -> str:
    """Return what a model runs on, and why, for people."""
    known = bundle.manifest.ctranslate2
    facts = known["formats"][known["auto"]] if known.get("auto") else {}
    if bundle.partners:
        reason = "the engine for ensembles"
    elif options.is_asked:
        reason = "as requested"
    elif not known.get("auto"):
        reason = "the only format of the model"
    elif facts.get("bleu") is None:
        reason = "the model's own choice"
    else:
        reason = "the fastest format whose dev BLEU is near float32's when exported "
        reason += f"({facts['lines_per_second']:,.0f} lines/s, BLEU {facts['bleu']:.2f})"
    return f"{running.description}, {reason}"


def _tensorflow_engine(bundle: Bundle, options: EngineOptions) -> "Engine":
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow

    if options.number_format is not None and bundle.partners:
        raise ConfigError("--format cannot be combined with an ensemble of models")
    if options.number_format is not None:
        raise ConfigError("--format needs --engine ctranslate2")
    for model in (bundle, *bundle.partners):
        model.load_weights()  # damaged files fail before the slow import
    quiet_tensorflow(options.threads, use_gpu=options.device != "cpu")
    from nmt_cli.search.tensorflow_engine import BATCH_TOKENS, has_gpu, load_engine

    if options.device == "gpu" and not has_gpu():
        raise ConfigError("--device gpu: TensorFlow finds no GPU here")
    return load_engine(
        bundle, batch_tokens=options.batch_tokens or BATCH_TOKENS, threads=options.threads or 0
    )


def _ctranslate2_device(device: str) -> str:
    from nmt_cli.search.ctranslate2_engine import has_gpu

    on_gpu = device != "cpu" and has_gpu()
    if device == "gpu" and not on_gpu:
        raise ConfigError("--device gpu: CTranslate2 finds no GPU here")
    return "cuda" if on_gpu else "cpu"
