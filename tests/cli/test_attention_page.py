"""The attention page in a browser: what it shows, and that keys reach all of it.

The page runs in headless Chromium, with a script behind its own that types; what is then in the
document is compared with the data.
"""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import document_after, needs_browser

from nmt_cli.report.attention import Attention, Tokens

pytestmark = needs_browser
WORDS = ["Bär", "läuft", "한국어", "</s>"]


@pytest.fixture(scope="module")
def picture() -> Attention:
    """Four words of one token each; three layers of two heads."""
    tokens = Tokens([f"▁{w}" for w in WORDS], WORDS, [[i] for i in range(len(WORDS))])
    random = np.random.default_rng(5)
    arrays = {}
    for kind in ("cross", "encoder", "decoder"):
        weights = random.random((3, 2, 4, 4), np.float32) ** 3
        arrays[kind] = weights / weights.sum(-1, keepdims=True)
    return Attention(title="t", sides=dict.fromkeys(arrays, (tokens, tokens)), arrays=arrays)


class _Document(HTMLParser):
    """The text of elements with an id, the table's cells, and what is hidden."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[dict[str, str | None]] = []
        self.texts: dict[str, str] = {}
        self.pressed: list[str | None] = []
        self.hidden: list[str] = []
        self._id = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self._id = values.get("id", "") or ""
        if values.get("role") == "gridcell":
            self.cells.append(values)
        if "hidden" in values:
            self.hidden.append(tag)
        if values.get("aria-pressed") == "true":
            self.pressed.append(values["aria-label"])

    def handle_endtag(self, tag):
        self._id = ""

    def handle_data(self, data):
        if self._id:
            self.texts[self._id] = self.texts.get(self._id, "") + data


def typed(picture: Attention, keys: list[str], folder) -> _Document:
    """Return the document after some keys, typed into the table."""
    script = "cellAt(0, 0).focus();" + "".join(
        f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', "
        f"{{key: '{key[-1] if key.startswith('Shift') else key}', "
        f"shiftKey: {str(key.startswith('Shift')).lower()}, bubbles: true}}));"
        for key in keys
    )
    return _Document(document_after(picture.page(), script, folder))


@pytest.mark.parametrize(
    ("keys", "kind", "layer", "head", "cell"),
    [
        ([], "cross", 3, None, (0, 0)),
        (["ArrowDown", "ArrowDown", "ArrowRight"], "cross", 3, None, (2, 1)),
        (["ArrowUp", "End", "ArrowRight"], "cross", 3, None, (0, 3)),
        (["l", "h"], "cross", 1, 1, (0, 0)),
        (["Shift+L", "Shift+H", "ArrowRight", "l"], "cross", 3, 2, (0, 1)),
        (["a", "End", "Home", "ArrowDown"], "encoder", 3, None, (1, 0)),
        (["a", "a", "w", "h"], "decoder", 3, 1, (0, 0)),
    ],
)
def test_keys_reach_every_head_and_cell(picture, tmp_path, keys, kind, layer, head, cell):
    document = typed(picture, keys, tmp_path)
    heads = picture.heads(kind, by_token="w" in keys)
    matrix = heads.weights[layer - 1]
    matrix = matrix.mean(axis=0) if head is None else matrix[head - 1]
    name = "mean of the heads" if head is None else f"head {head}"
    assert document.texts["chosen"] == f"{heads.name}, layer {layer}, {name}"
    row, column = cell
    assert document.texts["readout"] == (
        f"{heads.rows[row]} → {heads.columns[column]}: {100 * matrix[cell]:.1f} %"
    )
    shown = [float(re.search(r"--p: ([\d.]+)", c["style"])[1]) for c in document.cells]
    np.testing.assert_allclose(np.reshape(shown, matrix.shape), matrix, atol=6e-5)  # 4 digits
    in_tab_order = [i for i, c in enumerate(document.cells) if c["tabindex"] == "0"]
    assert in_tab_order == [row * len(heads.columns) + column]
    wanted = [f"layer {layer}, head {h}" for h in (1, 2) if head in (None, h)]
    assert document.pressed == wanted


def test_where_there_is_one_kind_there_is_no_choice_of_it(picture, tmp_path):
    kinds = {"encoder": picture.sides["encoder"]}
    alone = Attention(title="t", sides=kinds, arrays={"encoder": picture.arrays["encoder"]})
    document = typed(alone, ["a", "l", "h"], tmp_path)
    assert document.texts["chosen"] == "Encoder self-attention, layer 1, head 1"
    assert document.hidden == ["label", "span"]
    assert typed(picture, [], tmp_path).hidden == []
