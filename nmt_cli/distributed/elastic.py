"""Training that goes on without the machines that it loses, and with those that come back.

TensorFlow cannot change who belongs to a group. So this process, which does not use it, trains in a
child. When a machine is lost, leaves or wants to join, all machines end their children, and the
next ones begin from the last checkpoint as a group of those that are there (`membership.py`).
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import NoReturn

from nmt_cli.distributed.cluster import Cluster
from nmt_cli.distributed.membership import PATIENCE_S, Generation, Membership
from nmt_cli.errors import TrainingError, WorkerLost

_LOOK_S = 0.3
_SIGNAL_BASE = 128  # of the exit code of a process that stopped for a signal
_REGROUP = signal.SIGUSR1  # asks a child to save and to end
_REGROUPED = {_SIGNAL_BASE + _REGROUP, -_REGROUP}
_FAULTS = {1, TrainingError.exit_code}  # what a child may take the loss of the others for
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Train = Callable[[Cluster, Generation, Callable[[], int]], None]


class Supervisor:
    """Trains in children, one for each generation of machines that this one belongs to.

    Args:
        members: Knows who is there.
        cluster: All machines of the run.
        train: Called in each child with the machines of its generation, the generation, and a
            function that returns the number of a signal when the child must save and end; it then
            exits with 128 and that number.
        tell: Called with a line of text.
    """

    def __init__(
        self, members: Membership, cluster: Cluster, train: Train, tell: Callable[[str], None]
    ) -> None:
        self._members, self._cluster = members, cluster
        self._train, self._tell = train, tell
        self._signals: list[int] = []  # that this process got
        self._crashed_at = -1.0  # the checkpoint after which a child crashed
        self._lifeline = -1  # a pipe that closes when this process ends

    def run(self) -> None:
        """Return when the run is at its end.

        Raises:
            SystemExit: A child failed in a way that is its own, with its exit code; or this machine
                was asked to stop, with 128 and the signal's number. The others go on without it.
            TrainingError: A child was killed twice without progress.
        """
        for number in _STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._receive)
        while True:
            generation = self._wait_for_generation()
            code = self._watch(self._start(generation), generation)
            self._exit_if_asked()
            if code == 0 and self._is_run_over(generation):
                return
            if code > 0 and code not in _REGROUPED:
                sys.exit(code)
            if code < 0 and code not in _REGROUPED:
                self._note_crash(-code, generation)
            self._members.end(generation)

    def _wait_for_generation(self) -> Generation:
        while (generation := self._members.look()) is None:
            self._exit_if_asked()
            time.sleep(_LOOK_S)
        return generation

    def _start(self, generation: Generation) -> int:
        """Return the process that trains in a generation."""
        lifeline, self._lifeline = os.pipe()
        if child := os.fork():
            os.close(lifeline)
            return child
        os.close(self._lifeline)
        self._train_and_exit(generation, lifeline)

    def _train_and_exit(self, generation: Generation, lifeline: int) -> NoReturn:
        asked: list[int] = []
        os.setpgid(0, 0)  # Ctrl-C is for the parent
        for number in _STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.signal(_REGROUP, lambda number, _: asked.append(number))
        threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
        try:
            self._train(self._part_of(generation), generation, lambda: asked[0] if asked else 0)
        except WorkerLost as error:
            self._tell(str(error))
            sys.exit(_SIGNAL_BASE + _REGROUP)
        sys.exit(0)

    def _part_of(self, generation: Generation) -> Cluster:
        """Return the machines of a generation as a cluster; one machine alone needs no address."""
        workers, before = generation.workers, self._cluster.workers
        return replace(
            self._cluster,
            workers=workers if len(workers) > 1 else (),
            index=workers.index(before[self._cluster.index]),
            numbers=tuple(map(before.index, workers)),
            token=self._cluster.token + generation.token.encode(),
        )

    def _watch(self, child: int, generation: Generation) -> int:
        """Return how a child ended, below 0 for a signal; ask it to end when its group changes."""
        asked_at: float | None = None
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                os.close(self._lifeline)
                code = os.waitstatus_to_exitcode(status)
                may_be_others = asked_at is not None or self._members.is_over(generation)
                return -_REGROUP if may_be_others and (code < 0 or code in _FAULTS) else code
            now = time.monotonic()
            if asked_at is None:
                if self._signals or self._is_changing(generation):
                    os.kill(child, _REGROUP)
                    asked_at = now
            elif now > asked_at + PATIENCE_S or len(self._signals) > 1:
                os.kill(child, signal.SIGKILL)
            time.sleep(_LOOK_S)

    def _is_changing(self, generation: Generation) -> bool:
        return self._members.is_over(generation) or self._members.has_newcomer(generation)

    def _is_run_over(self, generation: Generation) -> bool:
        """Return whether the chief finishes; False: it is lost, and another one must do that."""
        self._members.finish(generation)
        while not self._members.is_finished(generation):
            if self._members.is_over(generation):
                return False
            self._exit_if_asked()
            time.sleep(_LOOK_S)
        return True

    def _note_crash(self, number: int, generation: Generation) -> None:
        """Raise TrainingError when a child was killed again and nothing was saved meanwhile."""
        if self._crashed_at == self._members.saved_at():
            raise TrainingError(
                f"training was killed twice by signal {number}, and did not get on",
                hint="if memory runs out, make train.tokens_per_batch or the model smaller",
            )
        self._crashed_at = self._members.saved_at()
        self._tell(f"training was killed by signal {number}; all begin again")

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)
        if len(self._signals) == 1:
            self._tell("stopping after this step, then saving (press again to stop at once)")

    def _exit_if_asked(self) -> None:
        if self._signals:
            sys.exit(_SIGNAL_BASE + self._signals[0])


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGKILL)
