"""Chat: replies have no single reference, so models are chosen by their loss on dev."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nmt_cli.tasks.writing import Writing

if TYPE_CHECKING:
    from nmt_cli.tasks.validation import Validator
    from nmt_cli.training.run import Prepared
    from nmt_cli.training.step import Stepper


class Chat(Writing):
    """See `task.Task`."""

    def validator(
        self,
        prepared: "Prepared",
        model: Any,
        stepper: "Stepper",
        should_stop: Callable[[], bool],
    ) -> "Validator":
        """See `task.Task`."""
        from nmt_cli.tasks.validation import ReplyValidator

        return ReplyValidator(prepared, model, stepper, should_stop)
