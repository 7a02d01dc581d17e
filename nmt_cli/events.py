"""The events of a training run, as frozen records: for the console, the log and tests.

Standard library only: code that follows a run need not load TensorFlow.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.evaluation.label_judging import LabelScore
    from nmt_cli.evaluation.number_formats import Measured
    from nmt_cli.evaluation.outputs import Sample
    from nmt_cli.evaluation.scores import Score

STOPPED = "stopped"  # the reason of a run that ended on request


class StopRequested(Exception):
    """Training must save and stop; the signal or 0, and the machine that got it (None: this)."""

    def __init__(self, number: int = 0, worker: int | None = None) -> None:
        super().__init__(number, worker)
        self.number, self.worker = number, worker


@dataclass(frozen=True)
class Waiting:
    """Training has not begun; the text names the machines that are still missing."""

    text: str


@dataclass(frozen=True)
class Started:
    """Training begins, or resumes at `step`; `environment` describes the machine."""

    step: int
    parameters: int
    precision: str
    warnings: list[str]
    environment: dict[str, str]
    unit: str = "tokens"  # what `StepDone.num_tokens` counts; older logs do not say


@dataclass(frozen=True)
class StepDone:
    """One optimizer step; the loss is in nats per target token, or per example of a classifier.

    `last_step` is the expected end of the run, without regard to patience.
    """

    step: int
    last_step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    num_tokens: int
    padding: float
    seconds: float


@dataclass(frozen=True)
class Skipped:
    """A step whose loss or gradient was not finite: the weights stay as they were."""

    step: int
    what: str


@dataclass(frozen=True)
class RolledBack:
    """Training resumes from the state of an earlier step, but with the batches that come next.

    `rate_factor` multiplies the learning rate from here on; warnings are about damaged checkpoints.
    """

    step: int
    from_step: int
    rate_factor: float
    warnings: list[str]


@dataclass(frozen=True)
class MicroBatchesHalved:
    """Memory was too small: smaller micro-batches, more of them in the same effective batch."""

    step: int
    tokens_per_micro_batch: int
    accumulate_steps: int


@dataclass(frozen=True)
class Evaluated:
    """Scores on dev. `score` chooses the best model; higher is better.

    `warning` describes what is odd about the outputs, if anything; `by_label` is for classifiers.
    """

    step: int
    dev_loss: float
    score: float
    scores: "dict[str, Score]"
    samples: "list[Sample]"
    warning: str | None
    is_best: bool
    label: str = "dev"
    by_label: "list[LabelScore]" = field(default_factory=list)


@dataclass(frozen=True)
class Saved:
    """A checkpoint is on disk; training continued while it was written."""

    step: int
    path: str


@dataclass(frozen=True)
class Finished:
    """The run is over, or was stopped on request and can be resumed.

    `bundle` is None when stopped, and on machines other than the chief, which writes it. `signal`
    is the number of the signal that stopped it, and `stopped_by` the machine that got it, if that
    was another one.
    """

    step: int
    reason: str
    scores: "dict[str, Score]"
    bundle: str | None
    signal: int = 0
    stopped_by: str = ""

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped on request."""
        return self.reason == STOPPED


@dataclass(frozen=True)
class Exported:
    """The bundle got a CTranslate2 form in another number format."""

    step: int
    measured: "Measured"


Event = (
    Waiting
    | Started
    | StepDone
    | Skipped
    | RolledBack
    | MicroBatchesHalved
    | Evaluated
    | Saved
    | Exported
    | Finished
)


def as_json(event: Event) -> dict[str, Any]:
    """Return an event as it is written to `events.jsonl`."""
    return {"event": type(event).__name__, **dataclasses.asdict(event)}
