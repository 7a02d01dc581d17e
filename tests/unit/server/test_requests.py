"""Tests of what clients send: how much work a wrong body makes, and how a key is given."""

import asyncio

import pytest
from pydantic import ValidationError
from starlette.requests import Request

from nmt_cli.server import own
from nmt_cli.server.requests import RequestError, check_key, read_values


@pytest.mark.parametrize("path", sorted(own.POSTS))
def test_a_list_of_wrong_items_is_read_to_the_first(path):
    """A record of each of a million wrong items held the whole server for 16 seconds."""
    body = own.POSTS[path][1]
    for item in (5, None, [], {}, [5], {"role": 5, "content": [5] * 100}):
        with pytest.raises(ValidationError) as error:
            body.model_validate(dict.fromkeys(body.model_fields, [item] * 1000))
        assert error.value.error_count() < 50


@pytest.mark.parametrize("given", ["Bearer key", "bearer key", "DeepL-Auth-Key key"])
def test_the_name_of_a_scheme_is_read_in_any_case(given):
    headers = [(b"authorization", given.encode())]
    check_key(Request({"type": "http", "headers": headers}), {}, ["other", "key"])
    with pytest.raises(RequestError):
        check_key(Request({"type": "http", "headers": headers}), {}, ["other"])


def test_a_body_that_announces_too_much_is_not_waited_for():
    async def receive():
        raise AssertionError("it was read")

    headers = [(b"content-length", b"999999999")]
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b""}
    with pytest.raises(RequestError, match="the body has more than") as error:
        asyncio.run(read_values(Request(scope, receive)))
    assert error.value.status == 413


@pytest.mark.parametrize("body", ["q=나는&source=ko&a=", "q=%EB%82%98%EB%8A%94&source=ko&a="])
def test_a_form_is_utf8_whether_it_is_escaped_or_not(body):
    """`curl -d` sends what was typed as it is."""

    async def receive():
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b""}
    found = asyncio.run(read_values(Request(scope, receive)))
    assert found == {"q": "나는", "source": "ko", "a": ""}
