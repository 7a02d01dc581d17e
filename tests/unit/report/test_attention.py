"""The attention picture: words from tokens, what its page holds, what a terminal shows."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.errors import ConfigError
from nmt_cli.report.attention import KINDS, Attention, Tokens, attention_of, check_choice
from nmt_cli.report.matrices import heat_table
from nmt_cli.search.attended import Attended
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

TEXTS = ["Ein Bär läuft über die Straße.", "오늘 날씨가 정말 좋네요!", "</script><b>"]


@pytest.fixture(scope="module")
def vocabulary() -> Subwords:
    return Subwords.train(TEXTS * 3, TokenizerConfig(vocab_size=340))


def random_attention(*shape: int) -> np.ndarray:
    weights = np.random.default_rng(3).random(shape, np.float32) ** 4
    return weights / weights.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def make_picture(vocabulary):
    def make(source=TEXTS[0], target=TEXTS[1], **choice) -> Attention:
        ids = [[*vocabulary.encode(text), EOS_ID] for text in (source, target)]
        s, t = map(len, ids)
        arrays = {
            "cross": random_attention(2, 3, t, s),
            "encoder": random_attention(4, 3, s, s),
            "decoder": random_attention(2, 3, t, t),
        }
        return attention_of(
            Attended("a → b", Vocabularies(vocabulary, vocabulary), ids, arrays), **choice
        )

    return make


@pytest.fixture(scope="module")
def label_picture(vocabulary) -> Attention:
    """What a classifier looks at in two texts."""
    ids = [i for text in TEXTS[:2] for i in (*vocabulary.encode(text), EOS_ID)]
    arrays = {"encoder": random_attention(2, 3, len(ids), len(ids))}
    return attention_of(Attended("a / b → c", Vocabularies(vocabulary, vocabulary), [ids], arrays))


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_of_the_text(vocabulary, text):
    tokens = Tokens.of(vocabulary, [*vocabulary.encode(text), EOS_ID])
    assert tokens.words == [*text.split(), "</s>"]
    assert [i for group in tokens.groups for i in group] == list(range(len(tokens.tokens)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_token", [False, True])
def test_rows_of_words_and_of_tokens_sum_to_one(make_picture, kind, by_token):
    heads = make_picture().heads(kind, by_token=by_token)
    assert heads.weights.shape[2:] == (len(heads.rows), len(heads.columns))
    np.testing.assert_allclose(heads.weights.sum(-1), 1.0, atol=1e-6)  # sums in float32


def test_the_decoder_looks_at_what_it_has_read(make_picture):
    heads = make_picture().heads("decoder", by_token=True)
    assert heads.columns == ["<s>", *heads.rows[:-1]]


def test_an_encoder_alone_has_one_kind_of_attention(label_picture):
    words = [*TEXTS[0].split(), "</s>", *TEXTS[1].split(), "</s>"]
    assert label_picture.chosen.rows == label_picture.chosen.columns == words
    np.testing.assert_allclose(label_picture.chosen.weights.sum(-1), 1.0, atol=1e-6)
    assert label_picture.caption == "Encoder self-attention: a / b → c"
    (found,) = re.findall(r'id="data">(.*?)</script>', label_picture.page())
    (kind,) = json.loads(found)["kinds"]
    assert kind["name"] == "Encoder self-attention"


class _Page(HTMLParser):
    """Collects the elements of a page, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.loaded: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        self.ids.add(values.get("id"))
        self.loaded += [str(values[key]) for key in ("src", "href") if key in values]


def test_the_page_holds_the_weights_as_they_are_and_loads_nothing(make_picture):
    picture = make_picture(source=TEXTS[2])
    text = picture.page()
    parsed = _Page()
    parsed.feed(text)
    assert parsed.loaded == []
    assert "url(" not in text
    assert "@import" not in text
    assert parsed.tags.count("script") == 2  # a token that looks like an end of it ends neither
    assert {"kind", "level", "layer", "head", "grid", "overview", "readout"} <= parsed.ids
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    data = json.loads(found)
    for kind, stored in zip(KINDS, data["kinds"], strict=True):
        for by_token, level in enumerate(stored["levels"]):
            heads = picture.heads(kind, by_token=bool(by_token))
            weights = np.frombuffer(base64.b64decode(level["weights"]), "<f4")
            np.testing.assert_array_equal(weights.reshape(heads.weights.shape), heads.weights)
            assert level["rows"] == heads.rows
            assert level["columns"] == heads.columns
        assert (stored["layers"], stored["heads"]) == heads.weights.shape[:2]


def test_the_terminal_shows_the_last_layers_mean_in_percent(make_picture):
    picture = make_picture()
    text = picture.screen(200, has_colour=False).plain
    assert "layer 2 of 2, mean of 3 heads" in text.splitlines()[0]
    mean = picture.heads("cross", by_token=False).weights[-1].mean(axis=0)
    last = text.splitlines()[-1]
    assert last.split()[0] == "</s>"
    shown = [0 if cell == "·" else int(cell) for cell in last.split()[1:]]
    assert shown == [round(100 * float(w)) for w in mean[-1]]


words = st.text(st.sampled_from("abc한글ü漢"), min_size=1, max_size=30)


@given(
    rows=st.lists(words, min_size=1, max_size=5),
    columns=st.lists(words, min_size=1),
    data=st.data(),
)
def test_a_table_keeps_to_the_terminals_width(rows, columns, data):
    width = data.draw(st.sampled_from([40, 80, 200]))
    weights = np.ones((len(rows), len(columns))) / len(columns)
    text = heat_table("t", rows, columns, weights, width, has_colour=False).plain
    assert max(map(cell_len, text.split("\n"))) <= width
    assert (
        text.count("100" if len(columns) == 1 else str(round(100 / len(columns))))
        or weights[0, 0] < 0.005
    )


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"kind": "crss"}, "Did you mean 'cross'?"),
        ({"layer": 3}, "--layer must be from 1 to 2 (it is 3)"),
        ({"kind": "encoder", "layer": 5}, "--layer must be from 1 to 4"),
        ({"head": 0}, "--head must be from 1 to 3 (it is 0)"),
        ({"has_decoder": False, "layer": 5}, "--layer must be from 1 to 4"),
        ({"has_decoder": False, "kind": "cross"}, "--kind must be encoder (it is cross)"),
    ],
)
def test_what_the_model_does_not_have_is_named(choice, said):
    model = {"encoder_layers": 4, "decoder_layers": 2, "num_heads": 3}
    with pytest.raises(ConfigError) as caught:
        check_choice(
            model, **{"has_decoder": True, "kind": None, "layer": None, "head": None, **choice}
        )
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("choice", "panels"),
    [({}, 6), ({"layer": 1}, 3), ({"head": 2}, 2), ({"layer": 2, "head": 3}, 1)],
)
def test_a_figure_has_a_panel_for_each_head(make_picture, choice, panels):
    figure = make_picture(**choice).figure()
    assert len(figure.axes) == panels
    heads = make_picture().heads("cross", by_token=False)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == heads.rows
    drawn = figure.axes[-1].images[0].get_array()
    layer, head = choice.get("layer", 2) - 1, choice.get("head", 3) - 1
    np.testing.assert_array_equal(np.asarray(drawn), heads.weights[layer, head])
