"""Tests of what clients send: how much work a wrong body makes, and how a key is given."""

import pytest
from pydantic import ValidationError
from starlette.requests import Request

from nmt_cli.server import own
from nmt_cli.server.requests import RequestError, check_key


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
