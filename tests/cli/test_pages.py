"""Reports and charts in a browser: narrow and wide, light and dark, with nothing but keys."""

import html
import json
import re

import numpy as np
import pytest
from browser import document_after, needs_browser

from nmt_cli.config.schema import Config
from nmt_cli.evaluation.comparison import Corpus, Evaluation, Result
from nmt_cli.report.evaluation_page import evaluation_page
from nmt_cli.report.matrices import Positions
from nmt_cli.report.training_page import training_page

pytestmark = needs_browser
LONG = "Donaudampfschifffahrtsgesellschaft" * 4
LOOK = """
const style = getComputedStyle(document.body);
const scrolled = [...document.querySelectorAll('*')].filter(e =>
  e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX));
const texts = [...document.querySelectorAll('.charts svg[role=img] text')];
document.querySelectorAll('summary').forEach(e => e.click());
document.body.dataset.found = JSON.stringify({
  width: innerWidth,
  needed: document.documentElement.scrollWidth,
  unreachable: scrolled.filter(e => e.tabIndex < 0).map(e => e.outerHTML.slice(0, 80)),
  paper: style.backgroundColor,
  ink: style.color,
  inCharts: [...new Set(texts.map(e => getComputedStyle(e).fill))],
  smallest: Math.min(...texts.map(e => e.getBoundingClientRect().height)),
  links: [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash)),
});
"""


def training() -> str:
    corpora = {"train": [{"file": f"{LONG}.tsv"}], "dev": [{"rows": 1}]}
    config = Config.model_validate({"name": "run", "data": corpora})
    sample = {"source": LONG, "output": f"{LONG} 한국어", "reference": "short"}
    score = {"score": 12.345, "signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"}
    events = [
        event
        for step in range(10, 120, 10)
        for event in (
            {"event": "StepDone", "step": step, "loss": 9 / step, "learning_rate": step * 1e-5,
             "num_tokens": 12345, "seconds": 0.1},
            {"event": "Evaluated", "step": step, "dev_loss": 8 / step, "is_best": True,
             "scores": {"bleu": score, "chrf": score}, "samples": [sample], "warning": LONG},
        )
    ]  # fmt: skip
    return training_page(config, "", events, None)


def evaluation() -> str:
    lines = [f"{i} {LONG if i % 5 == 0 else 'word'} {'more ' * i}" for i in range(40)]
    results = [
        Result(f"/a/very/long/path/{LONG}/{name}", outputs, settings={"search": LONG})
        for name, outputs in (("one", lines), ("two", [line[1:] for line in lines]))
    ]
    return evaluation_page(Evaluation(results, Corpus(lines, lines, "en")))


PAGES = {
    "training": training,
    "evaluation": evaluation,
    "drawing": lambda: Positions(title="positions", matrices={"one": np.eye(8, 8)}).page(),
}


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES.keys())
@pytest.mark.parametrize(("width", "scheme"), [(500, 0), (1200, 1)], ids=["narrow", "wide"])
def test_a_page_fits_its_screen_and_its_light(make, tmp_path, width, scheme):
    options = (f"--window-size={width},900", f"--blink-settings=preferredColorScheme={scheme}")
    document = document_after(make(), LOOK, tmp_path, *options)
    found = json.loads(html.unescape(re.search(r'data-found="(.*?)"', document)[1]))
    assert found["width"] == width
    assert found["needed"] <= width
    assert found["unreachable"] == []
    dark, light = (
        ("rgb(20, 22, 26)", "rgb(232, 234, 237)"),
        ("rgb(255, 255, 255)", "rgb(27, 29, 33)"),
    )
    assert (found["paper"], found["ink"]) == (light if scheme else dark)
    assert found["inCharts"] in ([], [found["ink"]])
    if found["inCharts"]:
        assert found["smallest"] >= 10  # pixels
    assert found["links"]
