"""What the heads of a model attend to: the data, its picture, and a page to walk through it.

The arrays come from `attention_by_kind` of `TensorFlowEngine`, or of `TensorFlowScorer` for a
classifier, which has only an encoder. The attention paid to a word is the sum over its tokens, and
the attention it pays is their mean; control tokens count as words, so rows sum to one. The page
holds the weights as float32 in base64; `attention.js` shows them.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nmt_cli.errors import ConfigError, did_you_mean, number_of
from nmt_cli.report.matrices import heat_table
from nmt_cli.report.page import asset, page
from nmt_cli.report.picture import HEAT, PAPER, Picture, draw_matrix, new_figure
from nmt_cli.search.alignment import groups_of, word_attention
from nmt_cli.text.special_tokens import BOS_ID
from nmt_cli.text.tokenizer import Subwords

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

    from nmt_cli.search.attended import Attended


Weights = npt.NDArray[np.float32]
KINDS = ("cross", "encoder", "decoder")
_NAMES = {
    "cross": ("Cross-attention", "What each word of the output attends to in the source."),
    "encoder": ("Encoder self-attention", "What each word of the input attends to in the input."),
    "decoder": (
        "Decoder self-attention",
        "What each word of the output attends to in the output so far.",
    ),
}
_CELL, _SMALLEST_CELL, _WIDEST = 0.2, 0.09, 36.0  # inches
_POINTS_PER_INCH = 72


class Tokens(NamedTuple):
    """A sequence of tokens and the words that they form."""

    tokens: list[str]  # as written, with the word marker
    words: list[str]  # each word's text; control tokens as written
    groups: list[list[int]]  # for each word, the indices of its tokens

    @classmethod
    def of(cls, vocabulary: Subwords, ids: Sequence[int]) -> "Tokens":
        """Return the tokens of ids."""
        tokens = vocabulary.tokens(ids)
        groups = groups_of(tokens)
        texts = (vocabulary.decode([ids[i] for i in group]).strip() for group in groups)
        written = ("".join(tokens[i] for i in group) for group in groups)
        words = [text or tokens for text, tokens in zip(texts, written, strict=True)]
        return cls(tokens, words, groups)


class Heads(NamedTuple):
    """All heads of one kind of attention, over tokens or over words."""

    name: str  # the kind, for people
    rows: list[str]  # labels of the T positions that look
    columns: list[str]  # labels of the S positions that are looked at
    weights: Weights  # [L, H, T, S]; rows sum to one


@dataclass(frozen=True, kw_only=True)
class Attention(Picture):
    """The attention in what a model reads and writes; a page opens with what is chosen here."""

    title: str
    # by kind, the tokens that look and those that are looked at
    sides: Mapping[str, tuple[Tokens, Tokens]]
    # by kind, weights between tokens; see `TensorFlowEngine.attention_by_kind`
    arrays: Mapping[str, Weights]
    kind: str | None = None  # one of these; None is the first
    by_token: bool = False  # tokens instead of words
    layer: int | None = None  # from 1; None is all of them (on a terminal the last)
    head: int | None = None  # from 1; None is all of them (on a terminal their mean)

    @cached_property
    def chosen(self) -> Heads:
        """The kind of attention that is drawn."""
        return self.heads(self.kind or next(iter(self.sides)), by_token=self.by_token)

    @property
    def caption(self) -> str:
        """See `Picture.caption`."""
        return f"{self.chosen.name}: {self.title}"

    def heads(self, kind: str, *, by_token: bool) -> Heads:
        """Return all heads of a kind between tokens or between words."""
        rows, columns = self.sides[kind]
        weights = self.arrays[kind]
        if by_token:
            return Heads(_NAMES[kind][0], rows.tokens, columns.tokens, weights)
        by_word: Any = [
            [word_attention(head.tolist(), columns.groups, rows.groups) for head in layer]
            for layer in weights
        ]
        return Heads(_NAMES[kind][0], rows.words, columns.words, np.array(by_word, np.float32))

    def _texts(self) -> str:
        return "".join([self.title, *self.chosen.rows, *self.chosen.columns])

    def page(self) -> str:
        """Return a page where every kind, layer and head can be chosen and walked over."""
        kinds = list(self.sides)
        data = {
            "kinds": [self._kind_data(kind) for kind in kinds],
            "chosen": {
                "kind": kinds.index(self.kind) if self.kind else 0,
                "level": int(self.by_token),
                "layer": self.layer,
                "head": self.head,
            },
        }
        # "<" is escaped, so that no text ends the script element
        text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
        body = asset("attention.html").replace("{data}", text)
        return page(self.title, body, style=asset("attention.css"), script=asset("attention.js"))

    def _kind_data(self, kind: str) -> dict[str, Any]:
        """Return all heads of a kind for `attention.js`: between words and between tokens."""
        levels = [self.heads(kind, by_token=by_token) for by_token in (False, True)]
        name, meaning = _NAMES[kind]
        layers, heads = self.arrays[kind].shape[:2]
        return {
            "name": name,
            "meaning": meaning,
            "layers": layers,
            "heads": heads,
            "levels": [
                {
                    "rows": level.rows,
                    "columns": level.columns,
                    "weights": base64.b64encode(level.weights.astype("<f4").tobytes()).decode(),
                }
                for level in levels
            ],
        }

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return one head, or the mean of a layer's heads, as a table of percentages."""
        heads = self.chosen
        layer = self.layer or len(heads.weights)
        mean = f"mean of {number_of(heads.weights.shape[1], 'head')}"
        head = f"head {self.head}" if self.head else mean
        matrices = heads.weights[layer - 1]
        matrix = matrices[self.head - 1] if self.head else matrices.mean(axis=0)
        title = f"{heads.name}, layer {layer} of {len(heads.weights)}, {head}, in percent"
        return heat_table(title, heads.rows, heads.columns, matrix, width, has_colour=has_colour)

    def _numbers(self) -> list[tuple[str, ...]]:
        return []

    def _draw(self) -> "Figure":
        heads = self.chosen
        layers, number = heads.weights.shape[:2]
        wanted_layers = [self.layer - 1] if self.layer else list(range(layers))
        wanted_heads = [self.head - 1] if self.head else list(range(number))
        room = _WIDEST / (len(wanted_heads) * len(heads.columns))
        cell = min(_CELL, max(_SMALLEST_CELL, room))
        points = 0.6 * cell * _POINTS_PER_INCH
        letters = max(map(len, [*heads.rows, *heads.columns])) * 0.7 * points / _POINTS_PER_INCH
        figure = new_figure(
            len(wanted_heads) * (len(heads.columns) * cell + 0.15) + letters + 0.5,
            len(wanted_layers) * (len(heads.rows) * cell + 0.35) + letters + 0.6,
        )
        grid = figure.subplots(len(wanted_layers), len(wanted_heads), squeeze=False)
        for layer, row in zip(wanted_layers, grid, strict=True):
            for head, axes in zip(wanted_heads, row, strict=True):
                draw_matrix(axes, heads.weights[layer, head], PAPER, HEAT)
                axes.set(xticks=[], yticks=[])
                axes.spines[:].set(visible=True, linewidth=0.4)
                axes.set_xlabel(f"layer {layer + 1}, head {head + 1}", fontsize=8)
        for axes in grid[0]:
            axes.xaxis.tick_top()
            axes.set_xticks(range(len(heads.columns)), heads.columns, rotation=90, fontsize=points)
        for axes in grid[:, 0]:
            axes.set_yticks(range(len(heads.rows)), heads.rows, fontsize=points)
        for axes in grid.flat:
            axes.tick_params(length=0)
        return figure


def check_choice(
    model: Mapping[str, Any],
    *,
    has_decoder: bool,
    kind: str | None,
    layer: int | None,
    head: int | None,
) -> None:
    """Raise ConfigError unless a model has such a kind of attention, layer and head.

    `model` is that section of its configuration; without a decoder it has one of `KINDS` only.
    """
    kinds = KINDS if has_decoder else ("encoder",)
    kind = kind or kinds[0]
    if kind not in kinds:
        hint = did_you_mean(kind, kinds)
        raise ConfigError(f"--kind must be {', '.join(kinds)} (it is {kind}).{hint}")
    layers = model["encoder_layers" if kind == "encoder" else "decoder_layers"]
    for option, value, most in (("--layer", layer, layers), ("--head", head, model["num_heads"])):
        if value is not None and not 1 <= value <= most:
            raise ConfigError(f"{option} must be from 1 to {most} (it is {value})")


def attention_of(found: "Attended", **choice: Any) -> Attention:
    """Return the picture of a pair, or of what an encoder alone reads.

    `choice` is `kind`, `by_token`, `layer` and `head` of `Attention`.
    """
    vocabularies, ids = found.vocabularies, found.ids
    source = Tokens.of(vocabularies.source, ids[0])
    sides = {"encoder": (source, source)}
    if len(ids) > 1:
        target = Tokens.of(vocabularies.target, ids[1])
        past = Tokens.of(vocabularies.target, [BOS_ID, *ids[1][:-1]])  # what the decoder reads
        sides = {"cross": (target, source), **sides, "decoder": (target, past)}
    return Attention(title=found.title, sides=sides, arrays=found.arrays, **choice)
