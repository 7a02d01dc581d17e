"""Tests of nmt_cli/server/serving.py: what a request may do with a model that was replaced."""

import asyncio

from nmt_cli.config.tasks import CHAT
from nmt_cli.search.loading import EngineOptions
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
