"""The model that a configuration describes."""

from nmt_cli.config.schema import Config
from nmt_cli.model.classifier import Classifier
from nmt_cli.model.transformer import Transformer


def build_model(
    config: Config,
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    joint: bool,
    compute_dtype: str = "float32",
) -> Transformer | Classifier:
    """Return a new model, with first weights that follow from the seed.

    Args:
        config: The configuration; its labels are known if it has any.
        source_vocab_size: Pieces of the source vocabulary.
        target_vocab_size: Pieces of the target vocabulary.
        joint: Whether both sides share one vocabulary.
        compute_dtype: Number format of activations, "float32" or "bfloat16".
    """
    if config.facts.has_labels:
        return Classifier(
            config.model,
            vocab_size=source_vocab_size,
            num_labels=len(config.classification.labels or ()),
            pooling=config.classification.pooling,
            head_dropout=config.classification.dropout,
            seed=config.seed,
            compute_dtype=compute_dtype,
        )
    return Transformer(
        config.model,
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        joint=joint,
        seed=config.seed,
        compute_dtype=compute_dtype,
    )
