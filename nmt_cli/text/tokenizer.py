"""Text <-> subword ids: byte-pair encoding (Sennrich et al. 2016) with byte fallback.

The pipeline, all of it inside `tokenizer.json` so that any program can use the file:

1. Unicode normal form, and lower case when asked for;
2. escape a literal word marker, then write each space as the marker `▁` and put one in front;
3. split words, single digits and punctuation; a marker stays with what follows it;
4. BPE merges inside a word; a character outside the vocabulary becomes its UTF-8 bytes (`<0xE2>`).

Nothing is lost: `decode(encode(x)) == normalise(x)` for any text. Control tokens are no part of the
pipeline, so a `</s>` that somebody types is five ordinary characters.
"""

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from nmt_cli.errors import DataError, ModelFileError
from nmt_cli.files import write_text
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS, WORD_MARKER

if TYPE_CHECKING:
    from nmt_cli.config.schema import TokenizerConfig

# A literal marker is escaped with two private-use characters, and the first of these with two more,
# so that every text stays different from every other.
_ESCAPE, _ESCAPED_MARKER, _ESCAPED_ESCAPE = "\ue000", "\ue000\ue001", "\ue000\ue002"
_CACHED_WORDS = 2000  # the default, 10,000, grows for a hundred thousand lines and is no faster
_WORDS = (
    rf"{WORD_MARKER}?[\p{{L}}\p{{M}}]+|{WORD_MARKER}?\p{{N}}"
    rf"|{WORD_MARKER}?[^{WORD_MARKER}\p{{L}}\p{{M}}\p{{N}}]|{WORD_MARKER}"
)
_CHANGING = (normalizers.NFC, normalizers.NFKC, normalizers.Lowercase)  # in this order
# Of the tokens that are neither control nor byte tokens, single characters take at most this share.
_ALPHABET_SHARE = 0.75


class Subwords:
    """A trained subword vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        tokenizer.model._resize_cache(_CACHED_WORDS)
        self.vocab_size: int = tokenizer.get_vocab_size()

    @classmethod
    def train(cls, texts: Iterable[str], config: "TokenizerConfig") -> "Subwords":
        """Learn a vocabulary of at most `config.vocab_size` tokens.

        The texts are read twice, first for characters, then for words, and only their counts are
        kept (but an iterator, read once, is kept whole).
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        tokenizer = Tokenizer(models.BPE(byte_fallback=True))
        tokenizer.normalizer = _normalizer(config)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORDS), behavior="isolated")
        tokenizer.decoder = _decoder()
        fixed = [*CONTROL_TOKENS, *BYTE_TOKENS]
        limit = int((config.vocab_size - len(fixed)) * _ALPHABET_SHARE)
        alphabet = _commonest_characters(map(tokenizer.normalizer.normalize_str, texts), limit)
        trainer = trainers.BpeTrainer(
            vocab_size=config.vocab_size,
            special_tokens=fixed,
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        )
        with ThreadPool(1) as pool:  # its thread ends with the process: Ctrl-C need not wait
            pool.apply_async(tokenizer.train_from_iterator, (texts, trainer)).get()
        return cls(_without_added_tokens(tokenizer))

    @classmethod
    def load(cls, path: Path) -> "Subwords":
        """Read a `tokenizer.json`.

        Raises:
            ModelFileError: The file is missing, damaged, or not one that nmt wrote.
        """
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except BaseException as error:  # a panic of the library is no `Exception`
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            reason = "no such file" if not path.exists() else f"not a tokenizer file: {error}"
            raise ModelFileError(f"{path}: {reason}") from error
        if any(tokenizer.token_to_id(token) != i for i, token in enumerate(CONTROL_TOKENS)):
            raise ModelFileError(f"{path}: its first tokens are not {' '.join(CONTROL_TOKENS)}")
        is_foreign = (
            any(tokenizer.token_to_id(token) is None for token in BYTE_TOKENS)
            or tokenizer.get_added_tokens_decoder()
            or tokenizer.truncation
            or tokenizer.padding
            or tokenizer.post_processor
            or not _splits_as_here(tokenizer)
            or tokenizer.decoder is None
            or not isinstance(tokenizer.normalizer, normalizers.Sequence)
        )
        if is_foreign:
            raise ModelFileError(f"{path}: not a tokenizer that nmt wrote")
        return cls(tokenizer)

    def save(self, path: Path) -> None:
        """Write `tokenizer.json` atomically."""
        write_text(path, self.tokenizer.to_str(pretty=True))

    def to_json(self) -> str:
        """Return the file's text: two vocabularies are the same when these are equal."""
        return str(self.tokenizer.to_str())

    def normalise(self, text: str) -> str:
        """Return the text as the model sees it: normal form and case, nothing else changed."""
        return str(self._public_normalizer.normalize_str(text))

    @functools.cached_property
    def _public_normalizer(self) -> normalizers.Normalizer:
        """The normaliser's steps that change what a text is, without the escapes."""
        found = [n for n in _CHANGING if n.__name__ in self._steps]
        return normalizers.Sequence([normalizer() for normalizer in found])

    @property
    def settings(self) -> dict[str, str | bool]:
        """The keys of `TokenizerConfig` that say how text is normalised."""
        forms = [step.lower() for step in self._steps if step in ("NFC", "NFKC")]
        return {"normalization": (forms or ["none"])[0], "lowercase": "Lowercase" in self._steps}

    @property
    def _steps(self) -> list[str]:
        return [step["type"] for step in json.loads(self.to_json())["normalizer"]["normalizers"]]

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without control tokens; DataError when it is not UTF-8."""
        with _not_utf8_told():
            return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts; uses all cores."""
        with _not_utf8_told():
            encodings = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the written form of each id (`▁Hello`, `,`, `<0xE2>`, `</s>`)."""
        return [str(self.tokenizer.id_to_token(i)) for i in ids]

    def all_tokens(self) -> list[str]:
        """Return the written form of every id, in order."""
        return self.tokens(range(self.vocab_size))

    def merges(self) -> list[tuple[str, str]]:
        """Return the pairs of tokens that encoding merges, the first ones first."""
        return [(left, right) for left, right in json.loads(self.to_json())["model"]["merges"]]

    def is_letter(self, character: str) -> bool:
        """Return whether a character forms words with its like (letters and marks do)."""
        return len(self.tokenizer.pre_tokenizer.pre_tokenize_str(2 * character)) == 1

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids of written tokens; what is no token is left out."""
        found = map(self.tokenizer.token_to_id, tokens)
        return [i for i in found if i is not None]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; control tokens are left out, broken bytes become U+FFFD."""
        content = [i for i in ids if i >= len(CONTROL_TOKENS)]
        return str(self.tokenizer.decode(content, skip_special_tokens=False))


@contextlib.contextmanager
def _not_utf8_told() -> Iterator[None]:
    try:
        yield
    except (UnicodeEncodeError, TypeError) as error:
        raise DataError("the text is not valid UTF-8") from error


def _splits_as_here(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer looks for our pattern: one of another might never end."""
    step = json.loads(tokenizer.to_str())["pre_tokenizer"] or {}
    return step.get("type") == "Split" and step.get("pattern") == {"Regex": _WORDS}


def _commonest_characters(texts: Iterable[str], limit: int) -> list[str]:
    """Return the word marker and the commonest other characters, `limit` at most.

    Equally common ones are taken in code point order: the trainer alone would choose among them by
    chance, differently in every run. Without the marker, spaces would be lost.
    """
    counts = Counter([WORD_MARKER])
    for text in texts:
        counts.update(text)
    return sorted(counts, key=lambda char: (char != WORD_MARKER, -counts[char], char))[:limit]


def _normalizer(config: "TokenizerConfig") -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = []
    if config.normalization != "none":
        steps.append({"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}[config.normalization]())
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    steps += [
        normalizers.Replace(_ESCAPE, _ESCAPED_ESCAPE),
        normalizers.Replace(WORD_MARKER, _ESCAPED_MARKER),
        normalizers.Replace(" ", WORD_MARKER),
        normalizers.Prepend(WORD_MARKER),
    ]
    return normalizers.Sequence(steps)


def _decoder() -> decoders.Decoder:
    return decoders.Sequence(
        [
            decoders.Replace(WORD_MARKER, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1, right=0),
            decoders.Replace(_ESCAPED_MARKER, WORD_MARKER),
            decoders.Replace(_ESCAPED_ESCAPE, _ESCAPE),
        ]
    )


def _without_added_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Keep control and byte tokens in the vocabulary, but never look for them in a text."""
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(state))
