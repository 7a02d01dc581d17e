"""Translation: chosen by BLEU of greedy output on dev."""

from typing import TYPE_CHECKING

from nmt_cli.tasks.writing import Writing

if TYPE_CHECKING:
    from nmt_cli.tasks.validation import Validator


class Translation(Writing):
    """See `task.Task`."""

    @property
    def validator(self) -> "type[Validator]":
        from nmt_cli.tasks.validation import TranslationValidator

        return TranslationValidator
