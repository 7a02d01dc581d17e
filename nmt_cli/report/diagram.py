"""A model as boxes: what the data goes through, its shape there, and the weights of each part."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from nmt_cli.bundle.folder import Bundle
from nmt_cli.errors import number_of
from nmt_cli.report.picture import GAP, INK, SERIES, Picture, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

_LEGEND = "B sentences, S source and T target positions"
_LABEL_LEGEND = "B texts, S positions"
_INPUT = {"encoder": "source", "decoder": "target"}
_POOLING = {
    "mean": "mean over the positions",
    "max": "maximum over the positions",
    "first": "the position of <s>",
}
_BOX_WIDTH, _BOX_HEIGHT, _GAP, _MARGIN, _BETWEEN = 4.0, 0.62, 0.24, 0.35, 1.0  # inches


@dataclass(frozen=True)
class Block:
    """A part of the model."""

    name: str  # what it is
    detail: str  # its sizes
    shape: str  # of what comes out
    parameters: int  # its weights, those of its normalisation included
    layers: int = 0  # for a part of a layer, how many layers like this follow each other; else 0

    @property
    def weights(self) -> str:
        """The parameters for people, of all layers."""
        if not self.parameters:
            return "no own weights"
        times = f"{self.layers} x " if self.layers > 1 else ""
        return f"{times}{self.parameters:,} weights"


@dataclass(frozen=True, kw_only=True)
class Diagram(Picture):
    """A Transformer from input to output."""

    title: str
    # encoder and decoder, or a classifier: the boxes of each from top to bottom
    sides: dict[str, list[Block]]
    legend: str  # what the letters of shapes mean

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the boxes of both sides, side by side where there is room."""
        from rich.text import Text

        texts = [
            [(b.name + _times(b), b.detail, f"{b.shape}   {b.weights}") for b in side]
            for side in self.sides.values()
        ]
        inner = max(len(line) for boxes in texts for box in boxes for line in box)
        edge, wide = "─" * (inner + 2), inner + 4
        columns = []
        for side, boxes in zip(self.sides, texts, strict=True):
            lines = [side.capitalize().center(wide).rstrip()]
            for box in boxes:
                shown = (f"│ {line:<{inner}} │" for line in box if line)
                lines += [f"┌{edge}┐", *shown, f"└{edge}┘", "▼".center(wide).rstrip()]
            columns.append(lines[:-1])
        if len(columns) * (wide + GAP) - GAP > width:
            body = [line for lines in columns for line in ("", *lines)][1:]
        else:
            body = [
                "".join(line.ljust(wide + GAP) for line in row).rstrip()
                for row in itertools.zip_longest(*columns, fillvalue="")
            ]
        return Text("\n".join([self.title, "", *body, "", self.legend, ""]))

    def _numbers(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("part", "sizes", "output", "layers", "weights of one")]
        for side, blocks in self.sides.items():
            rows += [
                (f"{side}: {b.name}", b.detail, b.shape, str(b.layers or 1), f"{b.parameters:,}")
                for b in blocks
            ]
        return rows

    def _draw(self) -> "Figure":
        lines = max(map(len, self.sides.values()))
        height = lines * (_BOX_HEIGHT + _GAP) + 2 * _MARGIN
        step = _BOX_WIDTH + _BETWEEN  # from a side to the next
        width = len(self.sides) * step - _BETWEEN + 2 * _MARGIN
        figure = new_figure(width, height + 0.6)
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(0, height)
        tops = {}
        for number, (side, blocks) in enumerate(self.sides.items()):
            left = _MARGIN + number * step
            tops[side] = _draw_side(axes, side.capitalize(), blocks, left, height - _MARGIN)
            label_x = left - 0.22 if number == 0 else left + _BOX_WIDTH + 0.22
            _draw_layers(axes, blocks, left, tops[side], label_x=label_x)
        if "decoder" in self.sides:
            reader = next(
                i for i, b in enumerate(self.sides["decoder"]) if b.name == "cross-attention"
            )
            memory, target = tops["encoder"][-1], tops["decoder"][reader]
            _draw_reading(axes, memory - _BOX_HEIGHT / 2, target - _BOX_HEIGHT / 2)
        axes.text(width / 2, 0, self.legend, ha="center", fontsize=8)
        return figure


def _draw_reading(axes: Any, memory: float, target: float) -> None:
    """Draw an arrow from the height of the encoder's output to where the decoder reads it."""
    end = _MARGIN + _BOX_WIDTH
    middle = end + _BETWEEN / 2
    axes.plot([end, middle, middle], [memory, memory, target], color=INK, lw=1)
    _draw_arrow(axes, (middle, target), (end + _BETWEEN, target))


def _times(block: Block) -> str:
    return f"  (x {block.layers})" if block.layers > 1 else ""


def _draw_side(
    axes: Any, heading: str, blocks: list[Block], left: float, top: float
) -> list[float]:
    """Draw blocks from top to bottom; return where each one's top edge is."""
    middle, right = left + _BOX_WIDTH / 2, left + _BOX_WIDTH - 0.1
    tops = [top - i * (_BOX_HEIGHT + _GAP) for i in range(len(blocks))]
    axes.text(middle, top + 0.1, heading, ha="center", fontsize=10)
    for index, (block, y) in enumerate(zip(blocks, tops, strict=True)):
        colour = SERIES[0] if block.layers else SERIES[5]
        box = (left, y - _BOX_HEIGHT, _BOX_WIDTH, _BOX_HEIGHT)
        _draw_box(axes, box, facecolor=f"{colour}22", edgecolor=colour, lw=1.2)
        axes.text(left + 0.1, y - 0.2, block.name, weight="bold", va="center")
        axes.text(right, y - 0.2, block.weights, ha="right", va="center")
        axes.text(left + 0.1, y - 0.44, block.detail, va="center", fontsize=8)
        axes.text(right, y - 0.44, block.shape, ha="right", va="center", fontsize=8)
        if index:
            _draw_arrow(axes, (middle, y + _GAP), (middle, y))
    return tops


def _draw_layers(
    axes: Any, blocks: list[Block], left: float, tops: list[float], *, label_x: float
) -> None:
    """Draw a frame around the blocks of a layer, and how many layers there are."""
    repeated = [y for block, y in zip(blocks, tops, strict=True) if block.layers]
    top, bottom = repeated[0] + 0.08, repeated[-1] - _BOX_HEIGHT - 0.08
    frame = (left - 0.12, bottom, _BOX_WIDTH + 0.24, top - bottom)
    _draw_box(axes, frame, fill=False, edgecolor=SERIES[0], linestyle=":")
    layers = max(block.layers for block in blocks)
    label = f"{layers} layers" if layers > 1 else "1 layer"
    axes.text(label_x, (top + bottom) / 2, label, rotation=90, ha="center", va="center")


def _draw_box(axes: Any, box: tuple[float, float, float, float], **style: Any) -> None:
    """Draw a rectangle: left, bottom, width and height."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(box[:2], box[2], box[3], **style))


def _draw_arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate(
        "", end, start, arrowprops={"arrowstyle": "->", "color": INK, "shrinkA": 0, "shrinkB": 0}
    )


def diagram_of(
    name: str, model: Mapping[str, Any], vocabulary: Mapping[str, Any],
    classification: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]],
) -> Diagram:  # fmt: skip
    """Return the diagram of a model, of sections of its manifest and the shapes of its weights."""

    def count(*prefixes: str) -> int:
        """Return how many weights have a name that begins with one of some dotted prefixes."""
        return sum(
            prod(shape)
            for weight, shape in shapes.items()
            if any(f"{weight}.".startswith(f"{prefix}.") for prefix in prefixes)
        )

    title = f"{name}: {sum(map(prod, shapes.values())):,} weights, {model['norm']}-norm"
    if classification:
        labels = len(classification["labels"])
        turn = "sigmoid" if classification["multi_label"] else "softmax"
        pooling = _POOLING[classification["pooling"]]
        blocks = [
            *_stack("encoder", model, vocabulary, count),
            Block("pooling", pooling, f"[B, {model['d_model']}]", 0),
            Block(f"head and {turn}", f"{labels} labels", f"[B, {labels}]", count("head")),
        ]
        return Diagram(title=title, sides={"classifier": blocks}, legend=_LABEL_LEGEND)
    own = count("output_embedding")
    detail = "a matrix of its own" if own else "the target embedding's matrix"
    output = Block("output and softmax", detail, f"[B, T, {vocabulary['target']}]", own)
    sides = {side: _stack(side, model, vocabulary, count) for side in _INPUT}
    sides["decoder"].append(output)
    return Diagram(title=title, sides=sides, legend=_LEGEND)


def _stack(
    side: str, model: Mapping[str, Any], vocabulary: Mapping[str, Any], count: Callable[..., int]
) -> list[Block]:
    """Return a side's embedding, one of its layers (all have the same shapes), and what follows."""
    letter, layers = ("S" if side == "encoder" else "T"), model[f"{side}_layers"]
    width, heads = model["d_model"], model["num_heads"]
    shape = f"[B, {letter}, {width}]"
    turns = " + turns" if count(f"{side}.turns") else ""
    shared = " shared" if count("embedding") and count("decoder") else ""
    tables = [f"{_INPUT[side]}_embedding", *(["embedding"] if side == "encoder" else [])]
    embedding = Block(
        f"embedding + positions{turns}",
        f"{vocabulary[_INPUT[side]]:,}{shared} tokens, {model['positions']}",
        shape,
        count(*tables, f"{side}.positions", f"{side}.turns", f"{side}.embedding_norm"),
    )
    head = f"{number_of(heads, 'head')} x {width // heads}"
    feed = f"{width} > {model['d_ff']} > {width}, {model['activation']}"
    parts = {
        "self_att": ("self-attention", f"{head}, causal" if side == "decoder" else head),
        "cross_att": ("cross-attention", f"{head}, over [B, S, {width}]"),
        "feed_forward": ("feed-forward", feed),
    }
    layer = [
        Block(title, sizes, shape, count(f"{side}.layer1.{part}"), layers)
        for part, (title, sizes) in parts.items()
        if side == "decoder" or part != "cross_att"
    ]
    norm = [Block("layer normalisation", "", shape, count(f"{side}.norm"))]
    return [embedding, *layer, *(norm if model["norm"] == "pre" else [])]


def diagram_of_bundle(bundle: Bundle) -> Diagram:
    """Return the diagram of a model."""
    manifest = bundle.manifest
    shapes = {name: array.shape for name, array in bundle.load_weights().items()}
    sizes = manifest.model, manifest.vocabulary, manifest.classification
    return diagram_of(manifest.name, *sizes, shapes)
