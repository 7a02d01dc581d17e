"""Chat: replies have no single reference, so models are chosen by their loss on dev."""

from typing import TYPE_CHECKING

from nmt_cli.tasks.writing import Writing

if TYPE_CHECKING:
    from nmt_cli.tasks.validation import Validator


class Chat(Writing):
    """See `task.Task`."""

    @property
    def validator(self) -> "type[Validator]":
        from nmt_cli.tasks.validation import ReplyValidator

        return ReplyValidator
