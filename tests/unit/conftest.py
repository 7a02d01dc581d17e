"""A run on the toy corpus, as small as the test file says."""

from collections.abc import Callable

import pytest

from nmt_cli.config.reading import load_config
from nmt_cli.training.run import Prepared, prepare


@pytest.fixture
def prepare_run(request, toy_corpus, tmp_path, monkeypatch) -> Callable[..., Prepared]:
    """A function that prepares a run in an empty working folder, with the settings `SMALL`."""
    monkeypatch.chdir(tmp_path)

    def run(*overrides: str, is_fresh: bool = False) -> Prepared:
        loaded = load_config(str(toy_corpus / "toy.yaml"), [*request.module.SMALL, *overrides])
        return prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None, is_fresh=is_fresh)

    return run
