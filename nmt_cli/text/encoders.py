"""The text encoder of each task."""

import hashlib
import json
from dataclasses import dataclass

from nmt_cli.config.schema import Config
from nmt_cli.text.labels import Labels
from nmt_cli.text.shards import Encoder
from nmt_cli.text.template import join_texts
from nmt_cli.text.vocabulary import Vocabularies


@dataclass(frozen=True)
class LabelEncoder(Encoder):
    """Texts -> ids, and label names -> their numbers.

    `begins`: each text has `<s>` in front, for a model that looks at the first position.
    """

    labels: Labels
    begins: bool

    def fingerprint(self) -> str:
        """See `Encoder.fingerprint`."""
        template = [self.labels.names, self.labels.separator, self.begins, self.max_length]
        text = self.source.to_json() + json.dumps(template)
        return hashlib.sha256(text.encode()).hexdigest()

    def encode_sources(self, sources: list[tuple[str, ...]]) -> list[list[int]]:
        """Return the ids of texts; white space around them is no part of them."""
        return super().encode_sources([tuple(text.strip() for text in one) for one in sources])

    def encode_turns(self, turns: list[list[int]]) -> list[int]:
        """Return the ids of one text, or of two with `</s>` between them."""
        return join_texts(turns, begins=self.begins, max_length=self.max_length)

    def encode_targets(self, targets: list[str]) -> list[list[int]]:
        """Return the numbers of the labels, from 1."""
        return [self.labels.ids(target) for target in targets]

    @property
    def has_labels(self) -> bool:
        """See `Encoder.has_labels`."""
        return True


def build_encoder(
    config: Config, vocabularies: Vocabularies, *, max_length: int | None = None
) -> Encoder:
    """Return the text encoder of a configuration whose labels, if it has any, are known.

    `max_length` is where to cut, in tokens; None is where the model does.
    """
    longest = max_length or config.model.max_length
    sides = vocabularies.source, vocabularies.target
    if (labels := Labels.of(config)) is not None:
        begins = config.classification.pooling == "first"
        return LabelEncoder(*sides, False, None, longest, labels=labels, begins=begins)
    return Encoder(
        *sides,
        is_chat=config.facts.has_turns,
        persona=config.chat.persona,
        max_length=longest,
    )
