"""A model as boxes: what the data goes through, its shape there, and the weights of each part."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from nmt_cli.report.canvas import INK, SERIES, new_figure
from nmt_cli.report.picture import Picture
from nmt_cli.report.terminal import box_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

_LEGEND = "B sentences, S source and T target positions"
_BOX_WIDTH, _BOX_HEIGHT, _GAP, _MARGIN, _BETWEEN = 4.0, 0.62, 0.24, 0.35, 1.0  # inches


@dataclass(frozen=True)
class Block:
    """A part of the model.

    Attributes:
        name: What it is.
        detail: Its sizes.
        shape: Of what comes out.
        parameters: Its weights, those of its normalisation included.
        layers: For a part of a layer, how many layers like this follow each other; else 0.
    """

    name: str
    detail: str
    shape: str
    parameters: int
    layers: int = 0

    @property
    def weights(self) -> str:
        """The parameters for people, of all layers."""
        if not self.parameters:
            return "no own weights"
        times = f"{self.layers} x " if self.layers > 1 else ""
        return f"{times}{self.parameters:,} weights"


@dataclass(frozen=True, kw_only=True)
class Diagram(Picture):
    """The two sides of an encoder-decoder Transformer, from input to output."""

    title: str
    encoder: list[Block]
    decoder: list[Block]

    def texts(self) -> str:
        """See `Picture.texts`."""
        return self.title

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the boxes of both sides, side by side where there is room."""
        columns = [
            [(b.name + _times(b), b.detail, f"{b.shape}   {b.weights}") for b in side]
            for side in (self.encoder, self.decoder)
        ]
        return box_columns(self.title, ("Encoder", "Decoder"), columns, _LEGEND, width)

    def table(self) -> list[tuple[str, ...]]:
        """See `Picture.table`."""
        rows: list[tuple[str, ...]] = [("part", "sizes", "output", "layers", "weights of one")]
        for side, blocks in (("encoder", self.encoder), ("decoder", self.decoder)):
            rows += [
                (f"{side}: {b.name}", b.detail, b.shape, str(b.layers or 1), f"{b.parameters:,}")
                for b in blocks
            ]
        return rows

    def _draw(self) -> "Figure":
        lines = max(len(self.encoder), len(self.decoder))
        height = lines * (_BOX_HEIGHT + _GAP) + 2 * _MARGIN
        width = 2 * (_BOX_WIDTH + _MARGIN) + _BETWEEN
        figure = new_figure(width, height + 0.6)
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(0, height)
        left, right = _MARGIN, _MARGIN + _BOX_WIDTH + _BETWEEN
        encoder = _draw_side(axes, "Encoder", self.encoder, left, height - _MARGIN)
        decoder = _draw_side(axes, "Decoder", self.decoder, right, height - _MARGIN)
        _draw_layers(axes, self.encoder, left, encoder, label_x=left - 0.22)
        _draw_layers(axes, self.decoder, right, decoder, label_x=right + _BOX_WIDTH + 0.22)
        reader = next(i for i, b in enumerate(self.decoder) if b.name == "cross-attention")
        memory, target = (y - _BOX_HEIGHT / 2 for y in (encoder[-1], decoder[reader]))
        middle = right - _BETWEEN / 2
        axes.plot([left + _BOX_WIDTH, middle, middle], [memory, memory, target], color=INK, lw=1)
        _draw_arrow(axes, (middle, target), (right, target))
        axes.text(width / 2, 0, _LEGEND, ha="center", fontsize=8)
        return figure


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
    shapes: Mapping[str, tuple[int, ...]],
) -> Diagram:  # fmt: skip
    """Return the diagram of a model.

    Args:
        name: The model's.
        model: The `model` section of its configuration.
        vocabulary: `Manifest.vocabulary`.
        shapes: The shape of every weight by name.
    """
    sides = {
        side: [
            _embedding(side, model, vocabulary, shapes),
            *_layers(side, model, shapes),
            *_final_norm(side, model, shapes),
        ]
        for side in ("encoder", "decoder")
    }
    total = sum(map(prod, shapes.values()))
    return Diagram(
        title=f"{name}: {total:,} weights, {model['norm']}-norm",
        encoder=sides["encoder"],
        decoder=[*sides["decoder"], _output(vocabulary, shapes)],
    )


def _count(shapes: Mapping[str, tuple[int, ...]], *prefixes: str) -> int:
    """Return how many weights have a name that begins with one of some dotted prefixes."""
    return sum(
        prod(shape)
        for name, shape in shapes.items()
        if any(f"{name}.".startswith(f"{prefix}.") for prefix in prefixes)
    )


def _embedding(
    side: str,
    model: Mapping[str, Any],
    vocabulary: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
) -> Block:
    which, letter = ("source", "S") if side == "encoder" else ("target", "T")
    owned = [f"{which}_embedding", f"{side}.positions"]
    is_shared = "embedding" in shapes
    if side == "encoder":
        owned.append("embedding")
    name = "embedding + positions"
    sizes = f"{vocabulary[which]:,}{' shared' if is_shared else ''} pieces, {model['positions']}"
    shape = f"[B, {letter}, {model['d_model']}]"
    return Block(name, sizes, shape, _count(shapes, *owned))


def _layers(
    side: str, model: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> list[Block]:
    """Return the parts of one layer; all layers of a side have the same shapes."""
    letter, layers = ("S" if side == "encoder" else "T"), model[f"{side}_layers"]
    width, heads = model["d_model"], model["num_heads"]
    shape = f"[B, {letter}, {width}]"
    head = f"{heads} heads x {width // heads}"
    feed = f"{width} > {model['d_ff']} > {width}, {model['activation']}"
    parts = {
        "self_att": ("self-attention", f"{head}, causal" if side == "decoder" else head),
        "cross_att": ("cross-attention", f"{head}, over [B, S, {width}]"),
        "feed_forward": ("feed-forward", feed),
    }
    return [
        Block(title, sizes, shape, _count(shapes, f"{side}.layer1.{part}"), layers)
        for part, (title, sizes) in parts.items()
        if side == "decoder" or part != "cross_att"
    ]


def _final_norm(
    side: str, model: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> list[Block]:
    if model["norm"] != "pre":
        return []
    letter = "S" if side == "encoder" else "T"
    shape = f"[B, {letter}, {model['d_model']}]"
    return [Block("layer normalisation", "", shape, _count(shapes, f"{side}.norm"))]


def _output(vocabulary: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Block:
    own = _count(shapes, "output_embedding")
    detail = "a matrix of its own" if own else "the target embedding's matrix"
    return Block("output and softmax", detail, f"[B, T, {vocabulary['target']}]", own)
