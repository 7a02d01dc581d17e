"""Tests of nmt_cli/server/serving.py: models that are replaced, or gone."""

import asyncio
import gc
import logging
import shutil
import weakref

from nmt_cli.config.tasks import CHAT
from nmt_cli.search.loading import EngineOptions
from nmt_cli.server.app import create
from nmt_cli.server.openai import ChatBody, _whole
from nmt_cli.server.serving import ServedModels
from nmt_cli.server.settings import Settings


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
