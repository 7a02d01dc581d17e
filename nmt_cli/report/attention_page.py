"""The page on which a person walks through the heads of a model.

It holds the weights as they are, float32 in base64; `attention.js` shows them.
"""

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt_cli.report.page import asset, page

if TYPE_CHECKING:
    from nmt_cli.report.attention import Heads

_BODY = """\
<noscript><p>This page needs JavaScript, which it brings along; it loads nothing.</p></noscript>
<form id="controls" aria-label="What is shown">
<label class="kinds">Attention <select id="kind"></select></label>
<label>Of <select id="level"><option value="0">words</option><option value="1">tokens</option>
</select></label>
<label>Layer <select id="layer"></select></label>
<label>Head <select id="head"></select></label>
</form>
<p id="meaning" class="faint"></p>
<h2>All heads</h2>
<div id="overview" role="group" aria-label="All layers and heads"></div>
<h2 id="chosen"></h2>
<p id="readout" role="status" aria-live="polite"></p>
<div id="scroll"><table id="grid" role="grid" aria-labelledby="chosen"></table></div>
<p class="faint" id="keys">Keys: <kbd>Tab</kbd> to the table, arrows move in it, <kbd>Home</kbd>
and <kbd>End</kbd> go along a row; <kbd>L</kbd> next layer, <kbd>H</kbd> next head, with
<kbd>Shift</kbd> the one before; <span class="kinds"><kbd>A</kbd> the kind of attention, </span>
<kbd>W</kbd> words or tokens.</p>
<script type="application/json" id="data">{data}</script>
"""


def attention_page(
    title: str,
    views: Sequence[Sequence["Heads"]],
    chosen: tuple[int, int, int | None, int | None],
) -> str:
    """Return the page.

    Args:
        title: One line.
        views: For each kind of attention its heads between words and between tokens.
        chosen: The kind, 0 for words or 1 for tokens, and layer and head from 1 that it opens
            with; None is the last layer and the mean of the heads.
    """
    data = {
        "kinds": [
            {
                "name": levels[0].name,
                "meaning": levels[0].meaning,
                "layers": levels[0].weights.shape[0],
                "heads": levels[0].weights.shape[1],
                "levels": [_level(heads) for heads in levels],
            }
            for levels in views
        ],
        "chosen": dict(zip(("kind", "level", "layer", "head"), chosen, strict=True)),
    }
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")  # ends no script element
    body = _BODY.replace("{data}", text)
    return page(title, body, style=asset("attention.css"), script=asset("attention.js"))


def _level(heads: "Heads") -> dict[str, Any]:
    weights = np.ascontiguousarray(heads.weights, "<f4")
    return {
        "rows": heads.rows,
        "columns": heads.columns,
        "weights": base64.b64encode(weights.tobytes()).decode("ascii"),
    }
