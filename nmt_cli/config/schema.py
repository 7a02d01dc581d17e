"""The configuration: every key, its type, range, unit and default.

Defaults live here and nowhere else. The models are frozen and refuse unknown keys. A field's
description is its help in `nmt init`'s file and in `configs/README.md`; `unit`, `may_change` and
`may_be_auto` sit beside it as metadata. A `Config` never holds the word `auto` in a key that
`config/auto.py` chooses: `config/reading.py` keeps apart which keys a file leaves open.
"""

import functools
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    create_model,
    field_validator,
    model_serializer,
    model_validator,
)

from nmt_cli.config.limits import default, within
from nmt_cli.config.tasks import TASKS, TaskFacts
from nmt_cli.encoding import check_encoding
from nmt_cli.errors import did_you_mean

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
NOISES = (
    "lower_case",
    "capitals",
    "title_case",
    "final_punctuation",
    "typos",
    "merged",
    "split",
)  # see `text/noise.py`
PARTS = ("embeddings", "encoder", "decoder")  # of a model, for `train.freeze`


def key(
    default: Any,
    help_text: str,
    *,
    unit: str | None = None,
    may_change: bool = False,
    may_be_auto: bool = False,
    **limits: Any,
) -> Any:
    """Declare one configuration key; without a default (`...`) it is required.

    A run can be resumed after a key that `may_change` was changed. The file may say `auto` for one
    that `may_be_auto`, which leaves the choice to `config/auto.py`. The unit is for the help, the
    limits are pydantic's (`ge`, `gt`, `le`, `lt`).
    """
    extra: dict[str, Any] = {"may_change": may_change, "may_be_auto": may_be_auto}
    if unit:
        extra["unit"] = unit
    return Field(default, description=help_text, json_schema_extra=extra, **limits)


auto_key = functools.partial(key, may_be_auto=True)
live_key = functools.partial(key, may_change=True)
open_key = functools.partial(key, may_change=True, may_be_auto=True)


def option(name: str, help_text: str, *, may_change: bool = True, unit: str | None = None) -> Any:
    """Declare the key of an option of search or chat, which has its default and its range."""
    return key(default(name), help_text, may_change=may_change, unit=unit, **within(name))


class Section(BaseModel):
    """A part of the configuration: immutable, closed to unknown keys, strict about types."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True
    )


class CorpusConfig(Section):
    """One corpus: two parallel text files, or one table or dialogue file."""

    source: str | None = key(None, "text file of source lines, parallel to target (.gz is fine)")
    target: str | None = key(None, "text file of target lines")
    file: str | None = key(
        None,
        "instead of two text files one .tsv, .csv or .jsonl, or for chat dialogues: .jsonl of "
        '{"turns": [...]} or {"messages": [...]}, or .txt with a turn a line and blank lines '
        "between dialogues",
    )
    columns: list[str | int] | None = key(
        None,
        "the source and target column of `file` (the text and its label, or two texts and their "
        "label): names of its heading line (or JSON keys, a.b for b within a), or numbers from 1 "
        "when it has none",
    )
    weight: float = key(
        1.0,
        "how often each pair is seen per epoch (train only): 2.0 is twice, 0.5 half of the pairs",
        ge=0.001,
        le=1000.0,
    )
    rows: int | None = key(
        None, "instead of files: this many rows taken out of train by a seeded hash", ge=1
    )
    source_lang: str = key("", "language code of its source, where it is not data.source_lang")
    target_lang: str = key("", "language code of its target, where it is not data.target_lang")

    @model_serializer(mode="wrap")
    def _without_empty_languages(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not given: what runs were begun with has no such keys."""
        found: dict[str, Any] = serialise(self)
        return {k: v for k, v in found.items() if v or k not in ("source_lang", "target_lang")}

    @property
    def label(self) -> str:
        """What to call it: its files."""
        if self.rows is not None:
            return f"{self.rows:,} rows of train"
        return " + ".join(filter(None, (self.source, self.target, self.file)))

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [self.source or self.target, self.file, self.rows]
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("give either source and target, or file, or rows")
        if (self.source is None) != (self.target is None):
            raise ValueError("source and target must be given together")
        if self.columns is not None and (self.file is None or len(self.columns) not in (2, 3)):
            raise ValueError(
                "columns must name two columns of file, or three: two texts and a label"
            )
        if any(isinstance(column, int) and column < 1 for column in self.columns or []):
            raise ValueError("columns are numbered from 1")
        if self.rows is not None and (self.source_lang or self.target_lang):
            raise ValueError(
                "rows of train keep their languages: leave out source_lang, target_lang"
            )
        return self


class DataConfig(Section):
    """Where the text is."""

    dir: str = live_key(
        ".", "folder of the files below; relative to this file, then to the working folder"
    )
    source_lang: str = live_key(
        "", "language code of the source, for the model card (en, de, ko, ...)"
    )
    target_lang: str = live_key("", "language code of the target")
    licence: str = live_key("", "licence of the text, for the model card: cc-by-4.0, mit, ...")
    encoding: str = key(
        "utf-8", "encoding of the files: a name that Python and iconv know, or auto to detect it"
    )
    train: list[CorpusConfig] = key(..., "training corpora", min_length=1)
    dev: list[CorpusConfig] = key(
        ..., "development corpora: they choose the best model", min_length=1
    )
    test: list[CorpusConfig] = live_key([], "test corpora: scored once, at the end")
    temperature: float = key(
        1.0,
        "T: the share of a train corpus in an epoch is proportional to its weight times its number "
        "of pairs to the power of 1/T; 5 makes the shares nearly equal (Arivazhagan et al. 2019)",
        ge=1.0,
        le=100.0,
    )

    noise: dict[str, float] = key(
        {},
        "shares of the training pairs to change, others in each epoch, so that a model can read "
        "what people type: lower_case, capitals, title_case, final_punctuation (missing or added) "
        "and typos of the source; merged (with the next pair) and split (one sentence) of both "
        "sides",
    )
    placeholders: bool = key(
        False,
        "teach the model placeholders, which stand for words that must not change: anew each epoch "
        "they replace, in a fifth of the training pairs, what both sides share and words that "
        "translate each other",
    )
    glossary: bool | str = key(
        False,
        "teach the model to read what terms shall become, as --glossary then tells it: anew each "
        "epoch, half of the sources have the translation in place of some words (true), or "
        "in place of the terms of a glossary where they have any (name of its file)",
    )

    @property
    def corpora(self) -> list[CorpusConfig]:
        """The corpora of all splits."""
        return [*self.train, *self.dev, *self.test]

    @property
    def files(self) -> list[str]:
        """The names of all files, relative to `dir`."""
        return [name for c in self.corpora for name in (c.source, c.target, c.file) if name]

    def way_of(self, corpus: CorpusConfig) -> tuple[str, str]:
        """Return the languages of source and target of a corpus; "" where not told."""
        return corpus.source_lang or self.source_lang, corpus.target_lang or self.target_lang

    @model_validator(mode="after")
    def _all_languages_told(self) -> Self:
        ways = [(c.label, *self.way_of(c)) for c in self.corpora if c.rows is None]
        if len({way[1:] for way in ways}) < 2:
            return self
        for label, source, target in ways:
            if not source or not target:
                raise ValueError(f"{label}: needs source_lang and target_lang, as others have")
            if source == target:
                raise ValueError(f"{label}: source_lang and target_lang are the same")
        return self

    @field_validator("noise")
    @classmethod
    def _shares_of_known_kinds(cls, noise: dict[str, float]) -> dict[str, float]:
        for kind, share in noise.items():
            if kind not in NOISES:
                raise ValueError(f"'{kind}' is not a kind of noise.{did_you_mean(kind, NOISES)}")
            if not 0 <= share <= 1:
                raise ValueError(f"{kind} must be between 0 and 1 (it is {share:g})")
        if sum(noise.values()) > 1:
            raise ValueError(f"the shares are {sum(noise.values()):g} together, more than 1")
        return noise

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str) -> str:
        check_encoding(name)
        return name

    @field_validator("dev", "test")
    @classmethod
    def _no_weight_and_rows_once(cls, corpora: list[CorpusConfig]) -> list[CorpusConfig]:
        if any(corpus.weight != 1.0 for corpus in corpora):
            raise ValueError("weight is for train only")
        if sum(corpus.rows is not None for corpus in corpora) > 1:
            raise ValueError("give rows only once")
        return corpora

    @field_validator("train")
    @classmethod
    def _rows_not_in_train(cls, corpora: list[CorpusConfig]) -> list[CorpusConfig]:
        if any(corpus.rows is not None for corpus in corpora):
            raise ValueError("rows is for dev and test only")
        return corpora


class TokenizerConfig(Section):
    """The subword vocabulary: byte-pair encoding (Sennrich et al. 2016) with byte fallback."""

    vocab_size: int = auto_key(
        10000,
        "number of tokens, including the 256 bytes and the control tokens",
        unit="tokens",
        ge=264,
        le=500000,
    )
    joint: bool = key(True, "one vocabulary for both sides")
    normalization: Literal["none", "nfc", "nfkc"] = key("nfc", "Unicode normal form of all text")
    lowercase: bool = key(False, "fold the text to lower case (output will be lower case too)")
    dropout: Probability = key(
        0.0,
        "BPE-dropout: share of merges left out at random in training text, others in each epoch "
        "(Provilkov et al. 2020); learning takes more steps",
    )


class ModelConfig(Section):
    """The Transformer (Vaswani et al. 2017) and its variants."""

    d_model: int = auto_key(128, "width of every layer's input and output", ge=2)
    d_ff: Positive = auto_key(256, "width inside the feed-forward layers")
    num_heads: Positive = auto_key(4, "attention heads; divides d_model")
    encoder_layers: Positive = auto_key(4, "encoder depth", unit="layers")
    decoder_layers: Positive = auto_key(4, "decoder depth", unit="layers")
    dropout: Probability = auto_key(0.1, "dropout on embeddings and on every sublayer's output")
    attention_dropout: Probability = auto_key(0.0, "dropout on attention weights")
    activation_dropout: Probability = auto_key(0.0, "dropout inside the feed-forward layers")
    norm: Literal["pre", "post"] = key("pre", "layer normalisation before or after each sublayer")
    norm_epsilon: float = key(1e-6, "added to the variance in layer normalisation", gt=0.0, le=0.1)
    activation: Literal["relu", "gelu", "silu", "swiglu"] = key("relu", "feed-forward activation")
    attention_bias: bool = key(False, "add a bias after each projection of attention")
    output_bias: bool = key(
        False, "add a bias to the output, which training leaves as it is; imported models have one"
    )
    embedding_norm: Literal["none", "encoder", "both"] = key(
        "none",
        "which side's embeddings are normalised after positions are added, as in BERT",
    )
    positions: Literal["sinusoidal", "learned", "table"] = key(
        "sinusoidal",
        "position encoding; a table is kept with the weights and not trained: that of an imported "
        "model, else sinusoids",
    )
    turn_embeddings: bool = auto_key(
        False,
        "chat: add to each token's embedding a learned vector for how many turns ago it was said, "
        "which tells the last turn from those before it",
    )
    tie_embeddings: bool = key(
        True, "one matrix for the output layer and the target (and joint source) embeddings"
    )
    max_length: int = auto_key(256, "longest sequence on each side", unit="tokens with </s>", ge=2)

    @field_validator("num_heads")
    @classmethod
    def _heads_divide_width(cls, num_heads: int, info: ValidationInfo) -> int:
        d_model = info.data.get("d_model")
        if d_model is not None and d_model % num_heads:
            raise ValueError(f"must divide d_model, which is {d_model}")
        return num_heads

    @field_validator("positions")
    @classmethod
    def _sinusoids_need_pairs(cls, positions: str, info: ValidationInfo) -> str:
        d_model = info.data.get("d_model")
        if positions != "learned" and d_model is not None and d_model % 2:
            raise ValueError(f"{positions} positions need an even d_model (it is {d_model})")
        return positions


# Python keeps `from` for itself, so this key cannot be declared as the others are.
_FROM: dict[str, Any] = {
    "from": (
        str | None,
        key(
            None,
            "a model or run folder whose weights and vocabulary to start from (fine-tuning); null "
            "starts from scratch",
        ),
    )
}


class StageConfig(Section):
    """A training before that of the run, which starts from its model."""

    max_steps: Positive = key(..., "stop the stage after this many steps")
    both_directions: bool = key(False, "learn to translate back, too, in one model")


class TrainConfig(create_model("_From", __base__=Section, **_FROM)):  # type: ignore[misc]
    """The training run."""

    freeze: list[str] = auto_key(
        [],
        "parts that stay as they are: embeddings (of tokens and learned positions), encoder, "
        "decoder; the optimizer needs no memory for them",
    )
    lora_rank: Count = key(
        0,
        "rank of the low-rank adapters that are trained instead of the matrices of the layers, "
        "usually 8; all other weights stay as they are; 0 is none",
    )
    max_steps: Positive = open_key(8000, "stop after this many steps", unit="optimizer steps")
    stages: list[StageConfig] = key(
        [],
        "trainings before this one, which starts from the model of the last: [{max_steps: 3000, "
        "both_directions: true}] learns both directions first (Gao et al. 2022)",
    )
    tokens_per_batch: Positive = auto_key(
        4096, "target tokens in an effective batch, padding not counted", unit="tokens"
    )
    accumulate_steps: Positive = key(1, "micro-batches that make one effective batch")
    length_width: int = key(
        2,
        "in a batch, lengths of targets differ by less than this, and of sources by less than half "
        "of it: a small width means little padding, a large one more varied batches",
        unit="tokens",
        ge=2,
    )
    optimizer: Literal["adam", "muon"] = auto_key(
        "adam",
        "muon moves the matrices of the layers equally far in every direction and needs fewer "
        "steps; Adam then trains the other weights",
    )
    muon_rms: float = key(
        0.4,
        "root mean square of the elements of a Muon step, before the learning rate: small batches "
        "need less",
        gt=0.0,
    )
    schedule: Literal["noam", "inverse_sqrt", "cosine", "constant"] = auto_key(
        "inverse_sqrt", "how the learning rate rises and falls"
    )
    learning_rate: float = auto_key(
        3e-3, "the peak rate; for noam the factor of d_model^-0.5", gt=0.0
    )
    warmup_steps: Positive = auto_key(
        1000, "steps from zero to the peak rate", unit="optimizer steps"
    )
    label_smoothing: Probability = key(
        0.1, "probability spread evenly over the tokens that an output can hold"
    )
    consistency: Literal["none", "rdrop", "simcut"] = key(
        "none",
        "read each batch twice, and train both predictions to agree: with different dropout "
        "(rdrop, Liang et al. 2021) or with some tokens hidden (simcut, Gao et al. 2022); a step "
        "takes twice as long",
    )
    consistency_weight: float = key(
        3.0, "alpha: weight of the agreement; 5 is usual for rdrop, 3 for simcut", ge=0.0
    )
    cutoff: Probability = key(0.05, "share of the tokens that simcut hides in its second reading")
    clip_norm: float = key(1.0, "largest norm of the gradient; 0 turns clipping off", ge=0.0)
    weight_decay: float = key(0.0, "decoupled weight decay (AdamW); 0 is plain Adam", ge=0.0)
    precision: Literal["auto", "float32", "bfloat16"] = key(
        "auto", "number format of activations; auto is bfloat16 where it is faster"
    )
    lanes: Literal["auto"] | Positive = key(
        "auto",
        "parts of each batch that a CPU computes in parallel, which keeps its cores busy with a "
        "small model; auto is one per core, and 1 for a wide model or a GPU",
    )
    devices: Literal["auto"] | Positive = live_key(
        "auto", "GPUs of each machine to train on; auto is all"
    )
    eval_steps: Positive = open_key(
        500, "evaluate on dev every this many steps", unit="optimizer steps"
    )
    checkpoint_steps: Positive = open_key(
        500, "save a checkpoint every this many steps", unit="optimizer steps"
    )
    keep_checkpoints: Positive = live_key(10, "how many of the last checkpoints to keep on disk")
    average_checkpoints: Positive = live_key(
        10,
        "at the end, try the average of the last and of the best checkpoints, this many each (as "
        "many of the best stay on disk, too); 1 is none",
    )
    average_decay: Probability = key(
        0.0, "decay of a moving average of the weights, tried at the end, e.g. 0.999; 0 is none"
    )
    patience: Count = open_key(
        10, "stop after this many evaluations without a better score; 0 never stops"
    )
    tensorboard: bool = live_key(
        False,
        "also write runs/NAME/tensorboard (the viewer: pip install 'nmt-cli[tensorboard]')",
    )

    @field_validator("freeze")
    @classmethod
    def _known_parts(cls, parts: list[str]) -> list[str]:
        for part in parts:
            if part not in PARTS:
                known = ", ".join(PARTS)
                raise ValueError(f"'{part}' is none of {known}.{did_you_mean(part, PARTS)}")
        return parts

    @property
    def start(self) -> str | None:
        """The key `from`."""
        path: str | None = getattr(self, "from")
        return path


class DecodeConfig(Section):
    """Default search options of the trained model; every command can override them."""

    beam_size: int = option("beam_size", "hypotheses kept at each step; 1 is greedy")
    length_penalty: float = option(
        "length_penalty", "alpha: score = log-probability / length^alpha"
    )
    coverage_penalty: float = option(
        "coverage_penalty",
        "beta: favours outputs that attend to all of the source (Wu et al. 2016)",
    )
    max_length: int = option("max_length", "longest output", unit="tokens with </s>")
    max_length_ratio: float | None = option(
        "max_length_ratio", "longest output as a multiple of the source's tokens (plus 10)"
    )
    min_length: int = option("min_length", "shortest output", unit="tokens")
    min_length_ratio: float = option(
        "min_length_ratio", "shortest output as a multiple of the source's tokens"
    )
    no_repeat_ngram_size: int = option(
        "no_repeat_ngram_size", "never write the same n tokens in a row twice; 0 allows it"
    )
    repetition_penalty: float = option(
        "repetition_penalty",
        "above 1 makes tokens already written less likely (Keskar et al. 2019)",
    )
    sample: bool = live_key(False, "draw tokens at random instead of searching")
    temperature: float = option("temperature", "when sampling: below 1 is safer, above 1 is wilder")
    top_k: int = option("top_k", "when sampling: only from the k most likely tokens; 0 is all")
    top_p: float = option(
        "top_p",
        "when sampling: only from the most likely tokens that hold this share of the probability",
    )

    @model_validator(mode="after")
    def _coverage_needs_a_beam(self) -> Self:
        if self.coverage_penalty and (self.sample or self.beam_size == 1):
            raise ValueError("coverage_penalty needs a beam of at least 2 and no sampling")
        return self


class ChatConfig(Section):
    """Dialogue context and choice of replies; used when task is chat."""

    history_turns: int = option(
        "history_turns", "earlier turns that the model sees before the last one", may_change=False
    )
    persona: str | None = key(None, "a line put before every conversation")
    format: Literal["nmt", "blenderbot", "blenderbot-small"] = key(
        "nmt", "how turns become what the model reads; imported models have formats of their own"
    )
    borrowed_history: float = key(
        0.5,
        "share of examples without history that get the exchanges before them as history, so that "
        "the model learns to answer the last turn whatever came before",
        ge=0.0,
        le=1.0,
    )
    rerank: int = option(
        "rerank",
        "number of candidate replies, of which the least generic is given; 1 gives the first, word "
        "by word",
    )
    anti_generic_weight: float = option(
        "anti_generic_weight",
        "lambda: rank = score - lambda * score without context (MMI-antiLM, Li et al. 2016)",
    )

    def text_settings(self) -> dict[str, Any]:
        """Return the keys that say what examples are, not how replies are chosen."""
        return self.model_dump(exclude={"rerank", "anti_generic_weight", "format"})


class ClassificationConfig(Section):
    """Labels and the head that predicts them; used when task is classification."""

    labels: list[str] | None = key(
        None, "label names in the order of the outputs; null is those in train, sorted"
    )
    multi_label: bool = key(False, "an example may have any number of labels, or none")
    separator: str = key(";", "separates the labels of an example that has several", min_length=1)
    threshold: float = live_key(
        0.5, "with multi_label: the lowest probability at which a label is given", gt=0.0, lt=1.0
    )
    pooling: Literal["mean", "max", "first"] = key(
        "mean",
        "one vector for all tokens: their mean, their maximum, or that of a <s> put in front",
    )
    dropout: Probability = key(0.1, "dropout between that vector and the outputs")
    class_weights: Literal["none", "balanced"] = key(
        "none", "balanced gives rare labels in train a larger weight"
    )
    freeze_encoder: bool = key(
        False, "with train.from: train only the output layer and keep the encoder as it is"
    )
    best_by: Literal["accuracy", "macro_f1", "loss"] = key(
        "accuracy", "the score that chooses the best model"
    )

    @property
    def label_separator(self) -> str | None:
        """What separates the labels of an example; None where each has just one."""
        return self.separator if self.multi_label else None

    @field_validator("labels")
    @classmethod
    def _different_labels(cls, labels: list[str] | None) -> list[str] | None:
        if labels is None:
            return None
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise ValueError("needs at least two labels, all different")
        if any(label != label.strip() or not label for label in labels):
            raise ValueError("a label must have text, and no white space around it")
        return labels


_LONGEST_NAME = 255  # bytes, of file systems


class Config(Section):
    """A whole run: data, vocabulary, model, training, search."""

    name: str = live_key(..., "the run folder below runs/", min_length=1)
    task: Literal["translation", "chat", "classification"] = key(
        "translation", "what the model is for"
    )
    seed: int = key(1, "the seed of all random numbers", ge=0, le=2**31 - 1)
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()
    chat: ChatConfig = ChatConfig()
    classification: ClassificationConfig = ClassificationConfig()

    @field_validator("name")
    @classmethod
    def _is_file_name(cls, name: str) -> str:
        if "/" in name or "\\" in name or name[0] in ".-" or not name.isprintable():
            raise ValueError(
                "should be the name of a folder, without a slash or a leading dot or dash"
            )
        if (size := len(name.encode())) > _LONGEST_NAME:
            raise ValueError(
                f"is too long for a folder: {size} bytes in UTF-8, of at most {_LONGEST_NAME}"
            )
        return name

    @field_validator("data")
    @classmethod
    def _corpora_are_of_the_task(cls, data: DataConfig, info: ValidationInfo) -> DataConfig:
        facts = TASKS.get(info.data.get("task", ""))
        if not (facts and facts.has_labels) and any(
            c.columns is not None and len(c.columns) != 2 for c in data.corpora
        ):
            raise ValueError("three columns need task: classification; otherwise name two")
        if facts is None or facts.is_parallel:
            return data
        if data.noise:
            raise ValueError("noise is for task: translation only")
        if data.placeholders:
            raise ValueError("placeholders is for task: translation only")
        if data.glossary:
            raise ValueError("glossary is for task: translation only")
        if any(c.source_lang or c.target_lang for c in data.corpora):
            raise ValueError("a corpus has languages of its own in task: translation only")
        return data

    @field_validator("model")
    @classmethod
    def _turns_only_in_chat(cls, model: ModelConfig, info: ValidationInfo) -> ModelConfig:
        if model.turn_embeddings and info.data.get("task") != "chat":
            raise ValueError("turn_embeddings needs task: chat")
        return model

    @field_validator("train")
    @classmethod
    def _can_be_trained_so(cls, train: TrainConfig, info: ValidationInfo) -> TrainConfig:
        facts, data = TASKS.get(info.data.get("task", "")), info.data.get("data")
        tokenizer = info.data.get("tokenizer")
        if facts and facts.has_labels and "decoder" in train.freeze:
            raise ValueError("freeze: a classifier has no decoder")
        if facts and facts.has_labels and train.consistency != "none":
            raise ValueError("consistency is for models that write text")
        if not any(stage.both_directions for stage in train.stages):
            return train
        if not (facts and facts.is_parallel) or not (tokenizer and tokenizer.joint):
            raise ValueError(
                "stages: both_directions needs task: translation and tokenizer.joint: true"
            )
        if data and any(corpus.rows is not None for corpus in (*data.dev, *data.test)):
            raise ValueError(
                "stages: both_directions needs files for dev and test: rows of train would be "
                "learned the other way round"
            )
        if data and any(corpus.source_lang or corpus.target_lang for corpus in data.train):
            raise ValueError("stages: both_directions is for one pair of languages")
        if data and any(corpus.file and corpus.columns is None for corpus in data.train):
            raise ValueError("stages: both_directions needs columns for each file of train")
        return train

    @property
    def facts(self) -> TaskFacts:
        """What there is to know of the task."""
        return TASKS[self.task]

    @property
    def text_settings(self) -> dict[str, Any] | None:
        """What a conversation's settings make of the text; None where there are no turns."""
        return self.chat.text_settings() if self.facts.has_turns else None

    @property
    def num_texts(self) -> int:
        """Texts that a classifier reads together: two where some corpus has three columns."""
        return max(len(corpus.columns or (1, 2)) - 1 for corpus in self.data.train)

    @property
    def vocabulary_sides(self) -> tuple[str, ...]:
        """Whose text each vocabulary is learned from; labels are not text."""
        if self.facts.has_labels:
            return ("source",)
        return ("joint",) if self.tokenizer.joint else ("source", "target")
