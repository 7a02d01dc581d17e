"""The loss of a classifier: cross-entropy of labels, smoothed and weighted.

With one label an example: softmax over the Y labels, against (1 - eps) at the right one plus
eps / Y at each (Szegedy et al. 2016, section 7), times the weight of the right one. With several:
Y decisions by sigmoid, against 1 - eps / 2 and eps / 2, the mean of all; the weight is that of the
first of these. Both are summed over examples.
"""

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from nmt_cli.model.classifier import Classifier
from nmt_cli.model.layers import RandomStream
from nmt_cli.model.packing import Tensor
from nmt_cli.tasks.token_loss import LossSums
from nmt_cli.text.shards import EncodedCorpus


class LabelLoss:
    """Compares a classifier's logits with the labels of a batch.

    Args:
        multi_label: Whether an example may have any number of labels.
        weights: [Y] weight of each label.
    """

    def __init__(self, *, multi_label: bool, weights: npt.NDArray[np.float32]) -> None:
        self._multi_label = multi_label
        self._weights = weights

    def __call__(
        self,
        model: Classifier,
        source: Tensor,
        target: Tensor,
        label_smoothing: float,
        random: RandomStream | None,
    ) -> LossSums:
        """Run the model on a batch and compare its predictions with the labels.

        Args:
            model: The classifier.
            source: [B, S] int32 source ids, padded with 0.
            target: [B, T] int32 numbers of each example's labels from 1, padded with 0.
            label_smoothing: eps.
            random: Seeds of the dropouts, or None for none.

        Returns:
            Sums over examples; their number stands where that of tokens does.
        """
        logits = model(source, random=random)
        is_label = tf.reduce_sum(tf.one_hot(target - 1, len(self._weights)), axis=1)  # [B, Y]
        losses = self._of_several if self._multi_label else self._of_one
        plain = losses(logits, is_label, 0.0, np.ones_like(self._weights))
        smoothed = losses(logits, is_label, label_smoothing, self._weights)
        count = tf.cast(tf.shape(source)[0], tf.float32)
        return LossSums(tf.reduce_sum(smoothed), tf.reduce_sum(plain), count)

    def _of_one(
        self, logits: Tensor, is_label: Tensor, eps: float, weights: npt.NDArray[np.float32]
    ) -> Tensor:
        wanted = (1.0 - eps) * is_label + eps / len(weights)
        losses = -tf.reduce_sum(wanted * tf.nn.log_softmax(logits), axis=1)
        return losses * tf.linalg.matvec(is_label, weights)

    def _of_several(
        self, logits: Tensor, is_label: Tensor, eps: float, weights: npt.NDArray[np.float32]
    ) -> Tensor:
        wanted = (1.0 - eps) * is_label + eps / 2
        losses = tf.nn.weighted_cross_entropy_with_logits(wanted, logits, weights)
        return tf.reduce_mean(losses, axis=1)


def balanced_weights(
    corpus: EncodedCorpus, num_labels: int, *, multi_label: bool
) -> npt.NDArray[np.float32]:
    """Return a weight for each label [Y] by which seldom and frequent ones count alike.

    With one label an example it is N / (Y n), n of the N examples having the label, so that the
    mean weight of an example is 1; with several, (N - n) / n. A label without examples weighs 1.
    """
    counts = np.bincount(corpus.target, minlength=num_labels + 1)[1:]
    with_examples = np.maximum(counts, 1)
    if multi_label:
        weights = (len(corpus) - counts) / with_examples
    else:
        weights = len(corpus) / (num_labels * with_examples)
    return np.where(counts, weights, 1.0).astype(np.float32)
