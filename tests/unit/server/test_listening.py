"""Tests of nmt_cli/server/listening.py: the port, and connections that send too slowly."""

import asyncio
import socket

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from nmt_cli.errors import ConfigError
from nmt_cli.server import listening


def test_a_port_is_taken_before_the_models_are_loaded():
    """Else a second server would load its models, and only then find that it cannot listen."""
    with listening._bound("127.0.0.1", 0) as first, pytest.raises(ConfigError, match="in use"):
        listening._bound("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_head_that_never_ends_ends_its_connection(before, monkeypatch):
    """Also behind a request that was answered, where uvicorn has no limit."""
    monkeypatch.setattr(listening, "_HEAD_SECONDS", 0.3)
    monkeypatch.setattr(listening, "_IDLE_SECONDS", 0.3)
    answer = PlainTextResponse("ok")
    config = uvicorn.Config(answer, http=listening._Protocol, lifespan="off", log_config=None)

    async def is_cut(open_socket: socket.socket) -> bool:
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[open_socket]))
        reader, writer = await asyncio.open_connection(*open_socket.getsockname())
        writer.write(before)
        if before:
            await reader.readuntil(b"ok")
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(100):
            writer.write(b"a")
            await asyncio.sleep(0.1)
            if reader.at_eof():
                break
        is_cut = reader.at_eof()
        writer.close()
        server.should_exit = True
        await serving
        return is_cut

    with listening._bound("127.0.0.1", 0) as open_socket:
        assert asyncio.run(is_cut(open_socket))
