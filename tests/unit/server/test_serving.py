"""Tests of nmt_cli/server/serving.py: words that stay; models that are replaced, or gone."""

import asyncio
import gc
import logging
import shutil
import weakref

from small_bundles import own_bundle

import nmt_cli
from nmt_cli.config.tasks import CHAT
from nmt_cli.search.loading import EngineOptions
from nmt_cli.server.app import create
from nmt_cli.server.libretranslate import TranslateBody, translate_texts
from nmt_cli.server.openai import ChatBody, _whole
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.settings import Settings
from nmt_cli.text.special_tokens import PLACEHOLDERS


def test_words_that_stay_are_placeholders_of_the_model_as_in_a_file(tmp_path):
    path = own_bundle(tmp_path, unmade=PLACEHOLDERS).path
    page = "<p>a red dog {name} runs</p>\n<p>a dog</p>"
    (tmp_path / "a.html").write_text(page)
    with nmt_cli.load(path) as model:
        nmt_cli.translate_document(tmp_path / "a.html", tmp_path / "b.html", model)
    models = ServedModels(Settings(models=[str(path)], engine=EngineOptions(threads=1)))
    body = TranslateBody(q=page, source="en", target="de", format="html")
    found = asyncio.run(translate_texts(models, body))
    models.close()
    assert found["translatedText"] == (tmp_path / "b.html").read_text()


def test_a_request_of_several_replies_goes_on_with_the_model_it_has(toy_chat):
    models = ServedModels(Settings(models=[str(toy_chat)], engine=EngineOptions(threads=1)))
    old = models.named("", CHAT)
    models.reload(unchanged=True)
    assert models.named("", CHAT) is not old
    body = ChatBody(messages=[{"role": "user", "content": "hi"}], n=3)
    assert len(asyncio.run(_whole(old, body))["choices"]) == 3
    models.close()


def test_a_model_that_was_replaced_leaves_memory(toy_chat):
    """The server's first one, too, which was there when it started."""
    app = create(Settings(models=[str(toy_chat)], engine=EngineOptions(threads=1)))
    models: ServedModels = app.state.models
    old = weakref.ref(models.named("", CHAT))
    models.reload(unchanged=True)
    gc.collect()
    assert old() is None
    models.close()


def test_a_model_that_is_gone_is_told_of_once(toy_chat, tmp_path, caplog):
    """A line a second for as long as it is gone would fill the disk."""
    folder = tmp_path / "model"
    shutil.copytree(toy_chat, folder)
    models = ServedModels(Settings(models=[str(folder)], engine=EngineOptions(threads=1)))
    with caplog.at_level(logging.WARNING, "nmt.serve"):
        folder.rename(tmp_path / "elsewhere")
        for _ in range(3):
            models.reload()
        (tmp_path / "elsewhere").rename(folder)
        for _ in range(3):
            models.reload()
    models.close()
    gone, back = caplog.messages
    assert "stays in use" in gone
    assert "reloaded" in back
