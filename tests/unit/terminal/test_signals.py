"""Signals during training: what they do before and after there is something to save."""

import os
import signal

import pytest
import typer

from nmt_cli.terminal.training_view import StopRequest

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
EACH = pytest.mark.parametrize(("number", "code"), CODES.items())


@pytest.fixture(autouse=True)
def _as_at_a_terminal():
    """What runs below nohup ignores SIGHUP, and so would the request."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@EACH
def test_before_there_is_something_to_save_a_signal_ends_at_once(number, code, capfd):
    def session():
        with StopRequest():
            os.kill(os.getpid(), number)
            pytest.fail("went on")

    with pytest.raises(typer.Exit) as caught:
        session()
    assert caught.value.exit_code == code
    assert capfd.readouterr().err.startswith("stopped at once")


@EACH
def test_later_a_signal_asks_for_a_stop_and_a_second_one_does_not_ask(number, code):
    def session():
        with StopRequest() as stop:
            stop.wait_for_step()
            assert stop.number() == 0
            stop.exit_if_set()
            os.kill(os.getpid(), number)
            assert stop.number() == number
            os.kill(os.getpid(), number)
            pytest.fail("went on")

    with pytest.raises(typer.Exit) as caught:
        session()
    assert caught.value.exit_code == code


def test_afterwards_the_handlers_are_what_they_were():
    before = [*map(signal.getsignal, CODES)]
    with StopRequest():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [*map(signal.getsignal, CODES)] == before


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopRequest() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop.number() == 0
    finally:
        signal.signal(signal.SIGHUP, before)
