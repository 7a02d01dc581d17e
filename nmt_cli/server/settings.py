"""What a server is told when it starts: what it serves, to whom, and how much at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nmt_cli.errors import ConfigError
from nmt_cli.resources import available_cores
from nmt_cli.search.loading import EngineOptions


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `nmt serve`; a number is that of the option of the same name.

    Raises:
        ConfigError: A number is out of range.
    """

    models: Sequence[str] = ()  # model folders, run folders or shared files; none is the newest
    engine: EngineOptions = field(default_factory=EngineOptions)  # how and where they run
    keys: Sequence[str] = ()  # who may ask; none is everyone
    origins: Sequence[str] = ()  # pages elsewhere that may ask
    # Names by which the server may be asked, beside those of `origins`; none is any. A page
    # elsewhere can make a name of its own mean this machine, but not change the name.
    hosts: Sequence[str] = ()
    suggestions: Path | None = None  # where better translations are kept; None refuses them
    log_text: bool = False  # whether the log shows what was asked
    batch_tokens: int = 1024  # most source tokens in a batch, about
    batch_wait: float = 2.0  # milliseconds that a free core waits for more texts
    max_characters: int = 100_000  # of all texts of a request together
    queue_characters: int = 200_000  # that wait for a model
    quota: int = 1_000_000_000_000  # characters for clients of DeepL's API, until it ends
    timeout: float = 60.0  # seconds until a request is answered

    def __post_init__(self) -> None:
        for name, least, most in (
            ("batch_tokens", 1, 1 << 20),
            ("batch_wait", 0, 10_000),
            ("queue_characters", 1, 1 << 40),
            ("quota", 1, 1 << 60),
        ):
            if not least <= (value := getattr(self, name)) <= most:
                wanted = f"{_option(name)} must be {least:,} to {most:,}"
                raise ConfigError(f"{wanted} (it is {value:,})")
        for name in ("max_characters", "timeout"):
            if not 0 < (value := getattr(self, name)) < 1 << 40:
                raise ConfigError(f"{_option(name)} must be above 0 (it is {value:,})")

    @property
    def threads(self) -> int:
        """Batches at a time."""
        return self.engine.threads or available_cores()


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
