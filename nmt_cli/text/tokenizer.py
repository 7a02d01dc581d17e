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
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from nmt_cli.errors import DataError, ModelFileError
from nmt_cli.files import write_text
from nmt_cli.text.imported import is_imported, is_known, steps_of
from nmt_cli.text.special_tokens import (
    BYTE_TOKENS,
    CONTROL_TOKENS,
    HIDDEN,
    PLACEHOLDERS,
    SIGNS,
    TERM_MARKS,
    WORD_MARKER,
)

if TYPE_CHECKING:
    from nmt_cli.config.schema import TokenizerConfig

# A literal marker is escaped with two private-use characters, and the first of these with two more,
# so that every text stays different from every other.
_ESCAPE, _ESCAPED_MARKER, _ESCAPED_ESCAPE = "\ue000", "\ue000\ue001", "\ue000\ue002"
_CACHED_WORDS = 500  # more (10,000 is the default) are no faster, and memory grows for long
_WORDS = (
    rf"{WORD_MARKER}?[\p{{L}}\p{{M}}]+|{WORD_MARKER}?\p{{N}}"
    rf"|{WORD_MARKER}?[^{WORD_MARKER}\p{{L}}\p{{M}}\p{{N}}]|{WORD_MARKER}"
)
_NORMAL_FORMS: dict[str, list[type[normalizers.Normalizer]]] = {
    "none": [], "nfc": [normalizers.NFC], "nfkc": [normalizers.NFKC],
}  # fmt: skip
_CHANGING = (normalizers.NFC, normalizers.NFKC, normalizers.Lowercase)  # in this order
# Of the tokens that are neither control nor byte tokens, single characters take at most this share.
_ALPHABET_SHARE = 0.75


class Subwords:
    """A trained subword vocabulary.

    Attributes:
        tokenizer: What splits and joins.
        tags: The tokens of languages, which follow the control tokens; see `Languages`.
        vocab_size: Tokens, control tokens and tags included.
        placeholders: The ids of tokens that stand for words, which no text makes; most
            vocabularies have none. They follow the tags.
        term_marks: The ids of those that tell what a term shall become, or none, in the same place.
    """

    def __init__(self, tokenizer: Tokenizer, tags: Sequence[str] = ()) -> None:
        self.tokenizer = tokenizer
        self.tags = tuple(tags)
        if isinstance(tokenizer.model, models.BPE | models.Unigram):  # others have no cache
            tokenizer.model._resize_cache(_CACHED_WORDS)
        self.vocab_size: int = tokenizer.get_vocab_size()
        self.placeholders: Sequence[int] = () if self.is_imported else self.ids(PLACEHOLDERS)
        self.term_marks: Sequence[int] = () if self.is_imported else self.ids(TERM_MARKS)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        config: "TokenizerConfig",
        tags: Sequence[str] = (),
        unmade: Sequence[str] = (),
    ) -> "Subwords":
        """Learn a vocabulary of at most `config.vocab_size` tokens, some of which no text makes.

        The texts are read twice, first for characters, then for words, and only their counts are
        kept (but an iterator, read once, is kept whole).
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        tokenizer = Tokenizer(models.BPE(byte_fallback=True))
        _add_steps(tokenizer, config.normalization, lowercase=config.lowercase)
        fixed = [*CONTROL_TOKENS, *tags, *unmade, *BYTE_TOKENS]
        limit = max(1, int((config.vocab_size - len(fixed)) * _ALPHABET_SHARE))
        alphabet = _commonest_characters(map(tokenizer.normalizer.normalize_str, texts), limit)
        alphabet = [char for char in alphabet if not (unmade and char in SIGNS)]
        trainer = trainers.BpeTrainer(
            vocab_size=config.vocab_size,
            special_tokens=fixed,
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        )
        _run_in_thread(lambda: tokenizer.train_from_iterator(texts, trainer))
        return cls(_without_added_tokens(tokenizer), tags)

    @classmethod
    def load(cls, path: Path, tags: Sequence[str] = ()) -> "Subwords":
        """Read a `tokenizer.json` that has these tags.

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
        subwords, first = cls(tokenizer, tags), (*CONTROL_TOKENS, *tags)
        if tuple(subwords.tokens(range(len(first)))) != first:
            raise ModelFileError(f"{path}: its first tokens are not {' '.join(first)}")
        is_foreign = (
            tokenizer.get_added_tokens_decoder()
            or tokenizer.truncation
            or tokenizer.padding
            or tokenizer.post_processor
            or not (is_known if subwords.is_imported else _is_ours)(tokenizer)
        )
        if is_foreign:
            raise ModelFileError(f"{path}: not a tokenizer that nmt wrote")
        return subwords

    def with_unmade(self, names: Sequence[str]) -> "Subwords":
        """Return a vocabulary of ours with more tokens that no text makes.

        What follows the tags moves.
        """
        state = json.loads(self.to_json())
        tokens, first = self.all_tokens(), len(CONTROL_TOKENS) + len(self.tags)
        tokens[first:first] = names
        state["model"]["vocab"] = {token: i for i, token in enumerate(tokens)}
        return Subwords(Tokenizer.from_str(json.dumps(state)), self.tags)

    @property
    def unmade(self) -> list[int]:
        """The ids of the tokens that no text makes, but for control tokens and tags."""
        return [*self.placeholders, *self.term_marks]

    @property
    def is_imported(self) -> bool:
        """Whether this is the vocabulary of an imported model; see `imported.py`."""
        return is_imported(self.tokenizer)

    def save(self, path: Path) -> None:
        """Write `tokenizer.json` atomically."""
        write_text(path, self.tokenizer.to_str(pretty=True))

    def to_json(self) -> str:
        """Return the file's text: two vocabularies are the same when these are equal."""
        return str(self.tokenizer.to_str())

    def normalise(self, text: str) -> str:
        """Return the text as the model sees it: normal form and case, nothing else changed.

        An imported vocabulary may change more, such as spaces.
        """
        return str(self._public_normalizer.normalize_str(text))

    @functools.cached_property
    def _public_normalizer(self) -> normalizers.Normalizer:
        """The normaliser's steps that change what a text is, without the escapes."""
        if self.is_imported:
            return self.tokenizer.normalizer or normalizers.Sequence([])
        found = [n for n in _CHANGING if n.__name__ in self._steps]
        return normalizers.Sequence([normalizer() for normalizer in found])

    @property
    def settings(self) -> dict[str, str | bool]:
        """The keys of `TokenizerConfig` that say how text is normalised."""
        if self.is_imported:
            return {}
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
        return [str(self.tokenizer.id_to_token(i)).removeprefix(HIDDEN) for i in ids]

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
        found = map(self._id, tokens)
        return [i for i in found if i is not None]

    def _id(self, token: str) -> int | None:
        found = self.tokenizer.token_to_id(token)
        return self.tokenizer.token_to_id(HIDDEN + token) if found is None else found

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids without control tokens and tags; broken bytes become U+FFFD."""
        content = [i for i in ids if i >= len(CONTROL_TOKENS) + len(self.tags)]
        return str(self.tokenizer.decode(content, skip_special_tokens=False))


@contextlib.contextmanager
def _not_utf8_told() -> Iterator[None]:
    try:
        yield
    except (UnicodeEncodeError, TypeError) as error:
        raise DataError("the text is not valid UTF-8") from error


def _is_ours(tokenizer: Tokenizer) -> bool:
    """Return whether each step is one of ours: the search for another pattern might never end."""
    if any(tokenizer.token_to_id(token) is None for token in BYTE_TOKENS):
        return False
    found = steps_of(tokenizer)
    for form in _NORMAL_FORMS:
        for lowercase in (False, True):
            twin = Tokenizer(models.BPE())
            _add_steps(twin, form, lowercase=lowercase)
            if steps_of(twin) == found:
                return tokenizer.model.dropout is None
    return False


def _run_in_thread(function: Callable[[], None]) -> None:
    """Run a function in a thread that ends with the process, so that Ctrl-C need not wait."""
    done = Future[None]()

    def run() -> None:
        try:
            function()
            done.set_result(None)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    done.result()


def _commonest_characters(texts: Iterable[str], limit: int) -> list[str]:
    """Return the word marker and the commonest other characters, `limit` at most.

    Equally common ones are taken in code point order: the trainer alone would choose among them by
    chance, differently in every run. Without the marker, spaces would be lost.
    """
    counts = Counter([WORD_MARKER])
    for text in texts:
        counts.update(text)
    return sorted(counts, key=lambda char: (char != WORD_MARKER, -counts[char], char))[:limit]


def _add_steps(tokenizer: Tokenizer, form: str, *, lowercase: bool) -> None:
    """Give a tokenizer what stands before and behind the merges."""
    steps = [step() for step in _NORMAL_FORMS[form]]
    if lowercase:
        steps.append(normalizers.Lowercase())
    steps += [
        normalizers.Replace(_ESCAPE, _ESCAPED_ESCAPE),
        normalizers.Replace(WORD_MARKER, _ESCAPED_MARKER),
        normalizers.Replace(" ", WORD_MARKER),
        normalizers.Prepend(WORD_MARKER),
    ]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORDS), behavior="isolated")
    tokenizer.decoder = decoders.Sequence(
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
