"""Every picture in every form: files, fonts, contrast, and the terminal at 80 and 200 columns."""

import itertools
import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from html_page import Page
from rich.cells import cell_len

from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.report.curves import curves_chart, schedule_chart
from nmt_cli.report.diagram import diagram_of
from nmt_cli.report.length_chart import lengths_chart
from nmt_cli.report.matrices import Confusion, Positions
from nmt_cli.report.page import asset
from nmt_cli.report.picture import SERIES, fonts_for, write_picture
from nmt_cli.training.schedule import learning_rate

MODEL = {
    "d_model": 8, "d_ff": 16, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 3,
    "norm": "pre", "activation": "relu", "positions": "sinusoidal",
}  # fmt: skip
CONFIG = Config.model_validate(
    {
        "name": "one-two",
        "data": {"train": [{"file": "t.tsv"}], "dev": [{"rows": 1}]},
        "train": {
            "schedule": "cosine",
            "max_steps": 1000,
            "warmup_steps": 37,
            "learning_rate": 0.5,
        },
    }
)


def step(number: int, loss: float) -> dict:
    return {
        "event": "StepDone", "step": number, "loss": loss, "learning_rate": number * 1e-3,
        "num_tokens": 300, "seconds": 1.5,
    }  # fmt: skip


def evaluated(number: int, loss: float, label: str = "dev") -> dict:
    scores = {"bleu": {"score": 10 - loss, "signature": ""}}
    return {
        "event": "Evaluated",
        "step": number,
        "dev_loss": loss,
        "scores": scores,
        "label": label,
    }


EVENTS = [step(1, 5.0), step(2, 4.0), evaluated(2, 4.5), step(3, 9.0),
          {"event": "RolledBack", "step": 2, "from_step": 3}, step(3, 3.0), evaluated(3, 3.5),
          evaluated(3, 1.0, "average of the last 2"), {"event": "Finished", "step": 3}]  # fmt: skip


def shapes() -> dict[str, tuple[int, ...]]:
    found = {"embedding": (50, 8), "encoder.norm.scale": (8,), "decoder.norm.scale": (8,)}
    for side, layers in (("encoder", 2), ("decoder", 3)):
        for number in range(1, layers + 1):
            layer = f"{side}.layer{number}"
            found |= {
                f"{layer}.self_att.query_key_value": (8, 24),
                f"{layer}.self_att.norm.bias": (8,),
            }
            found |= {f"{layer}.feed_forward.inner.kernel": (8, 16)}
            if side == "decoder":
                found[f"{layer}.cross_att.query"] = (8, 8)
    return found


LABELS = {"labels": ["yes", "no"], "multi_label": False, "pooling": "max"}


def label_shapes() -> dict[str, tuple[int, ...]]:
    kept = {name: shape for name, shape in shapes().items() if not name.startswith("decoder")}
    return kept | {"head.kernel": (8, 2), "head.bias": (2,)}


PICTURES = {
    "schedule": lambda: schedule_chart(CONFIG),
    "curves": lambda: curves_chart("two runs", {"a <b>": EVENTS, "b": EVENTS[:3]}),
    "lengths": lambda: lengths_chart(
        "lengths", "pieces", {"source": Counter({3: 5, 40: 1}), "target": Counter({2: 6})}, 30
    ),
    "positions": lambda: Positions(
        title="positions", matrices={"encoder": np.eye(30, 8), "decoder": -np.eye(30, 8)}
    ),
    "model": lambda: diagram_of(
        "toy", MODEL, {"source": 50, "target": 50, "joint": True}, {}, shapes()
    ),
    "classifier": lambda: diagram_of(
        "toy", MODEL, {"source": 50, "target": 50, "joint": True}, LABELS, label_shapes()
    ),
    "confusion": lambda: Confusion(
        title="confusion", labels=["yes", "<no>"], counts=[[9, 1], [0, 4]]
    ),
}
each_picture = pytest.mark.parametrize("make", PICTURES.values(), ids=PICTURES.keys())


@each_picture
def test_every_form_is_written_and_the_same_twice(make, tmp_path):
    warnings = []
    for suffix in ("png", "svg", "html"):
        contents = []
        for folder in ("one", "two"):
            path = tmp_path / folder / f"picture.{suffix}"
            write_picture(make(), path, on_warning=warnings.append)
            contents.append(path.read_bytes())
        assert contents[0] == contents[1]
    assert warnings == []
    assert (tmp_path / "one/picture.png").read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(tmp_path / "one/picture.svg")
    text = (tmp_path / "one/picture.html").read_text()
    assert "currentColor" in text
    page = Page(text)
    assert "b" not in {name for name, _ in page.elements}
    titled = [path for path, text in page.texts if text == make().title]
    assert titled == ["html head title", "html body main h1"]


@each_picture
@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("has_colour", [True, False])
def test_the_terminals_form_keeps_to_its_width(make, width, has_colour):
    text = make().screen(width, has_colour=has_colour).plain
    assert max(map(cell_len, text.split("\n"))) <= width
    assert make().title in text


def test_a_picture_needs_a_known_suffix_and_a_place(tmp_path):
    with pytest.raises(ConfigError, match=r"\.png, \.svg or \.html"):
        write_picture(PICTURES["schedule"](), tmp_path / "a.gif", on_warning=print)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_picture(PICTURES["schedule"](), tmp_path / "file" / "a.png", on_warning=print)


def test_a_schedule_is_what_training_uses():
    (panel,) = schedule_chart(CONFIG).panels
    (line,) = panel.series
    assert line.xs[0] == 1
    assert line.xs[-1] == 1000
    assert 37 in line.xs
    assert max(line.ys) == 0.5
    for x, y in zip(line.xs, line.ys, strict=True):
        assert y == learning_rate(int(x), CONFIG.train, CONFIG.model.d_model)


def test_curves_leave_out_what_was_rolled_back_and_other_evaluations():
    chart = curves_chart("one", {"run": EVENTS})
    points = {p.name: list(zip(p.series[0].xs, p.series[0].ys, strict=True)) for p in chart.panels}
    assert points == {
        "training loss": [(1, 5.0), (2, 4.0), (3, 3.0)],
        "dev loss": [(2, 4.5), (3, 3.5)],
        "dev bleu": [(2, 5.5), (3, 6.5)],
        "learning rate": [(1, 1e-3), (2, 2e-3), (3, 3e-3)],
        "tokens/s": [(1, 200.0), (2, 200.0), (3, 200.0)],
    }


def test_what_is_not_finite_is_no_point():
    events = [step(1, 5.0), step(2, float("nan")), evaluated(2, float("inf")), step(3, 4.0)]
    chart = curves_chart("one", {"run": events})
    points = {p.name: p.series[0].ys for p in chart.panels}
    assert points["training loss"] == [5.0, 4.0]
    assert "dev loss" not in points


def test_a_run_back_at_its_start_has_no_curve():
    back = {"event": "RolledBack", "step": 0, "from_step": 1}
    assert curves_chart("one", {"run": [step(1, 5.0), back]}).panels == []


def test_a_pages_lines_run_between_their_axes():
    page = Page(curves_chart("two runs", {"a": EVENTS, "b": EVENTS[:3]}).page())
    drawings = [a for name, a in page.elements if name == "svg" and a.get("role") == "img"]
    assert drawings[0]["aria-label"] == "training loss over steps: a from 5 to 3; b from 5 to 4"
    assert page.of("ul", "li") == ["a", "b"]
    lines = [
        (colour, np.array(re.findall(r"([\d.]+) ([\d.]+)", a["d"] or ""), float))
        for name, a in page.elements
        for colour in SERIES[:2]
        if name == "path" and f"fill: none; stroke: {colour}" in (a.get("style") or "")
    ]
    assert {colour for colour, _ in lines} == set(SERIES[:2])
    first = lines[0][1]  # the training loss of `a`
    assert (first[0, 0], first[-1, 0]) == (56, 380)
    assert 14 < first[0, 1] < first[-1, 1] < 184  # it falls


def test_runs_of_other_tasks_leave_the_panels_in_order():
    chart = curves_chart("both", {"chat": [step(1, 2.0)], "translation": EVENTS})
    wanted = ["training loss", "dev loss", "dev bleu", "learning rate", "tokens/s"]
    assert [panel.name for panel in chart.panels] == wanted
    text = chart.screen(80, has_colour=False).plain
    assert "a chat         b translation" in text  # whole, in columns of one width


def test_a_run_of_one_step_is_drawn():
    chart = curves_chart("short", {"run": [step(4, 2.0)]})
    assert "training loss" in chart.screen(80, has_colour=False).plain


def test_a_long_run_becomes_means_of_neighbours():
    chart = curves_chart("long", {"run": [step(i, float(i)) for i in range(1, 2001)]})
    (loss, *_) = chart.panels
    assert len(loss.series[0].xs) == 125
    assert loss.series[0].ys[0] == loss.series[0].xs[0] == 8.5  # of 1 to 16
    assert np.mean(loss.series[0].ys) == pytest.approx(1000.5)


def test_lengths_are_summed_up():
    chart = PICTURES["lengths"]()
    assert chart.bars[0].facts == (
        "mean 9.2, median 3, 99% up to 40, longest 40; 1 beyond model.max_length 30"
    )
    assert (chart.bars[0].limit, chart.bars[1].limit) == (30, None)
    text = chart.screen(80, has_colour=False).plain
    assert "< model.max_length" in text


def test_a_diagram_counts_turn_embeddings():
    vocabulary = {"source": 50, "target": 50, "joint": True}
    with_turns = shapes() | {"encoder.turns": (4, 8)}
    encoder, decoder = diagram_of("toy", MODEL, vocabulary, {}, with_turns).sides.values()
    assert [encoder[0].name, encoder[0].parameters] == [
        "embedding + positions + turns",
        50 * 8 + 32,
    ]
    assert decoder[0].name == "embedding + positions"


@pytest.mark.parametrize(("name", "made"), [("model", shapes), ("classifier", label_shapes)])
def test_the_diagrams_parts_hold_all_weights(name, made):
    picture = PICTURES[name]()
    total = sum(int(np.prod(shape)) for shape in made().values())
    parts = itertools.chain(*picture.sides.values())
    assert sum(block.parameters * (block.layers or 1) for block in parts) == total
    assert f"{total:,}" in picture.title


def test_a_classifiers_diagram_ends_with_pooling_and_labels():
    picture = PICTURES["classifier"]()
    assert list(picture.sides) == ["classifier"]
    first, *_, pooling, head = picture.sides["classifier"]
    assert first.detail == "50 tokens, sinusoidal"
    assert (pooling.detail, pooling.shape) == ("maximum over the positions", "[B, 8]")
    assert (head.detail, head.shape, head.parameters) == ("2 labels", "[B, 2]", 18)


def test_numbers_on_a_matrix_keep_their_colour_in_the_dark():
    """Cells stay light there, so their text must not follow the page's."""
    page = Page(PICTURES["confusion"]().page())
    styles = {a["style"] for name, a in page.elements if name == "text" and a.get("style")}
    assert any("fill: #ffffff" in style for style in styles)
    assert any("fill" not in style for style in styles)  # black, as SVG has it


def test_fonts_are_found_for_german_and_what_is_missing_is_named():
    found = fonts_for("Bärenstraße ▁ñ")
    assert found.missing == ""
    assert found.families == ["DejaVu Sans"]
    assert fonts_for("a\U0010fffd") == (["DejaVu Sans"], "\U0010fffd")


def test_a_png_without_a_font_for_it_says_so(tmp_path):
    picture = schedule_chart(CONFIG.model_copy(update={"name": "\U0010fffd"}))
    said = []
    for suffix in ("png", "svg", "html"):
        write_picture(picture, tmp_path / f"a.{suffix}", on_warning=said.append)
    assert len(said) == 1
    assert "no installed font has \U0010fffd" in said[0]


# --- contrast (WCAG 2.2: 4.5 for text, 3 for marks) -----------------------------------------------

THEMES = [
    dict(re.findall(r"--([\w-]+): (#\w{6})", block))
    for block in re.findall(r":root \{(.*?)\}", asset("page.css"), flags=re.DOTALL)
]


def luminance(colour) -> float:
    shares = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * shares[0] + 0.7152 * shares[1] + 0.0722 * shares[2]


def contrast(one, other) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rgb(text: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(text[1:]))


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_what_a_page_writes_can_be_read(theme):
    paper = rgb(theme["paper"])
    assert contrast(rgb(theme["ink"]), paper) >= 7
    assert contrast(rgb(theme["faint"]), paper) >= 4.5
    assert contrast(rgb(theme["accent"]), paper) >= 4.5
    for colour in SERIES:
        assert contrast(rgb(colour), paper) >= 3, colour


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_numbers_can_be_read_on_every_shade(theme):
    strong = float(re.search(r"STRONG = ([\d.]+);", asset("attention.js"))[1])
    paper, heat = rgb(theme["paper"]), rgb(theme["heat"])
    for weight in np.linspace(0, 1, 101):
        cell = [a + weight * (b - a) for a, b in zip(paper, heat, strict=True)]
        ink = theme["on-heat"] if weight >= strong else theme["on-paper"]
        assert contrast(rgb(ink), cell) >= 4.5, weight


def test_the_speed_of_a_classifier_is_in_examples():
    started = {"event": "Started", "step": 0, "unit": "examples"}
    chart = curves_chart("one", {"run": [started, step(1, 5.0)]})
    assert [panel.name for panel in chart.panels][-1] == "examples/s"
