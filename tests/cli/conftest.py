"""A tiny chat model, a browser, and `nmt translate`, for the command line's tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER


@pytest.fixture(scope="session")
def babbling_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a chat model with random weights: it samples, and never comes to an end."""
    from numpy_transformer import Architecture, random_weights

    from nmt_cli.bundle.folder import save_bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.text.tokenizer import Subwords
    from nmt_cli.text.vocabulary import Vocabularies

    longest = 20_000
    corpora = [{"file": "none.jsonl"}]
    config = Config.model_validate(
        {
            "name": "babble",
            "task": "chat",
            "data": {"train": corpora, "dev": corpora},
            "tokenizer": {"vocab_size": 330},
            "model": {
                "d_model": 16, "d_ff": 32, "num_heads": 2, "encoder_layers": 1,
                "decoder_layers": 1, "max_length": longest,
            },
            "decode": {"sample": True, "min_length": longest, "max_length": longest},
        }
    )  # fmt: skip
    texts = ["hello there you", "how are things", "안녕하세요 친구"]
    subwords = Subwords.train(texts * 9, config.tokenizer)
    size = subwords.vocab_size
    weights = random_weights(Architecture(16, 32, 2, 1, 1), size, size, "all", 1, longest)
    folder = tmp_path_factory.mktemp("babbling-chat") / "model"
    save_bundle(
        folder,
        config=config,
        vocabularies=Vocabularies(subwords, subwords),
        weights=weights,
        scores={},
        training={},
    )
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=flags)
        yield browser
        browser.close()


@pytest.fixture(params=[("light", 360), ("light", 1280), ("dark", 360), ("dark", 1280)])
def screen(request: pytest.FixtureRequest, chromium: Any) -> Iterator[Any]:
    """An empty page, in light and dark, narrow and wide, that axe-core may look at."""
    scheme, width = request.param
    context = chromium.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
    )
    yield context.new_page()
    context.close()


@pytest.fixture
def translate(run_nmt: Any, toy_bundle: Path, tmp_path: Path) -> Callable[..., Any]:
    """Run `nmt translate` with a model that knows ten words, in the test's own folder."""

    def run(*arguments: str) -> Any:
        return run_nmt("translate", "-m", str(toy_bundle), *arguments, cwd=tmp_path)

    return run
