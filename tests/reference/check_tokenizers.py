"""Compare imported tokenizers with those of other tools, line by line, on text of your own.

    pip install -e '.[peers]'
    python tests/reference/check_tokenizers.py TEXT...

Of each file the first 2,000 lines are compared; vocabularies are learned from the first 10,000:
SentencePiece's own against `MarianTokenizer`'s way, BlenderbotSmall's, RoBERTa's and BERT's against
`transformers`.
"""

import gzip
import json
import sys
import tempfile
from pathlib import Path

import sentencepiece as spm
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertTokenizer, BlenderbotSmallTokenizer, RobertaTokenizer

from nmt_cli.pretrained import bart, tokenizer_file
from nmt_cli.pretrained.published import Published
from nmt_cli.pretrained.sentencepiece_file import piece_names, read_subwords
from nmt_cli.text.tokenizer import Subwords

COMPARED, LEARNED = 2000, 10_000
SIZE = 4000
ROLES = (1, 2, 0)  # the ids of the first token, the last and padding


def learn_words(lines: list[str], folder: Path) -> None:
    """Write vocab.json and merges.txt as BlenderbotSmall has them."""
    learned = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    learned.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, end_of_word_suffix="</w>", show_progress=False, limit_alphabet=1000
    )
    learned.train_from_iterator((line.lower() for line in lines), trainer)
    state = json.loads(learned.to_str())["model"]
    names = [
        name.removesuffix("</w>") if name.endswith("</w>") else f"{name}@@"
        for name in sorted(state["vocab"], key=state["vocab"].get)
    ]
    special = ["__null__", "__start__", "__end__", "__unk__", "__newln__"]
    write(folder, list(dict.fromkeys([*special, *names])), state["merges"])


def learn_bytes(lines: list[str], folder: Path) -> None:
    """Write vocab.json and merges.txt as RoBERTa has them, but with `<pad>` first."""
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    learned.train_from_iterator(lines, trainer)
    state = json.loads(learned.to_str())["model"]
    write(folder, sorted(state["vocab"], key=state["vocab"].get), state["merges"])


def learn_pieces(lines: list[str], folder: Path) -> None:
    """Write vocab.txt as BERT has it."""
    learned = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learned.normalizer = normalizers.BertNormalizer()
    learned.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=SIZE, special_tokens=special, show_progress=False, limit_alphabet=1000
    )
    learned.train_from_iterator(lines, trainer)
    ids = learned.get_vocab()
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in sorted(ids, key=ids.get)))


def write(folder: Path, names: list[str], merges: list[list[str]]) -> None:
    """Write the two files of a byte-pair encoding."""
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    rows = "".join(f"{' '.join(pair)}\n" for pair in merges)
    (folder / "merges.txt").write_text(f"#version: 0.2\n{rows}")


def compare(what: str, ours: Subwords, order: list[int], theirs, lines: list[str]) -> int:
    """Print how many lines get other ids; return it."""
    differing = [
        line for line in lines if [order[i] for i in ours.encode(line)] != list(theirs(line))
    ]
    print(f"  {what}: {len(lines) - len(differing):,} of {len(lines):,} lines alike")
    for line in differing[:3]:
        print(f"    {line!r}\n      {[order[i] for i in ours.encode(line)]}\n      {theirs(line)}")
    return len(differing)


def check(path: Path) -> int:
    """Compare every kind of tokenizer on a file; return how many lines differ."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for _, line in zip(range(LEARNED), stream, strict=False)]
    print(path)
    wrong, some = 0, lines[:COMPARED]
    for rule in ("nmt_nfkc", "identity"):
        with tempfile.TemporaryDirectory() as name:
            options = {"normalization_rule_name": rule, "vocab_size": SIZE, "minloglevel": 2}
            spm.SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_prefix=f"{name}/m", hard_vocab_limit=False,
                **options,
            )  # fmt: skip
            model = spm.SentencePieceProcessor(model_file=f"{name}/m.model")
            pieces = piece_names(Path(name, "m.model"))
            names = ["<pad>", *pieces[1:3], "<unk>", *pieces[3:]]
            order, tokens = bart.numbered(names, ROLES, Path(name))
            ours = read_subwords(Path(name, "m.model"), tokens)
            ids = {piece: i for i, piece in enumerate(names)}

            def theirs(line: str, model=model, ids=ids) -> list[int]:
                return [ids.get(p, 3) for p in model.encode(line, out_type=str)]

            wrong += compare(f"SentencePiece, {rule}", ours, order, theirs, some)
    kinds = (
        (learn_words, BlenderbotSmallTokenizer, tokenizer_file.small_bpe, "__unk__", {}),
        (learn_bytes, RobertaTokenizer, tokenizer_file.byte_bpe, "<unk>", {"prefix_space": False}),
        (learn_pieces, BertTokenizer, tokenizer_file.word_pieces, "[UNK]", {}),
    )
    for learn, published, read, unknown, options in kinds:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            learn(lines, folder)
            source = Published(folder)
            source.config = {}
            names = tokenizer_file.read_names(source)
            order, tokens = bart.numbered(names, ROLES, folder)
            ours = read(source, tokens, unknown, **options)
            ours, added = ours if isinstance(ours, tuple) else (ours, 0)
            order += [names.index(unknown)] * added
            tokenizer = published.from_pretrained(folder)

            def theirs(line: str, tokenizer=tokenizer) -> list[int]:
                return tokenizer(line, add_special_tokens=False)["input_ids"]

            wrong += compare(published.__name__, ours, order, theirs, some)
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, sum(check(Path(name)) for name in sys.argv[1:])))
