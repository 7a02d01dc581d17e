"""How well does a model keep words that must not change, and what does that cost?

    python tests/benchmarks/placeholders.py MODEL --source test.en.gz --target test.de.gz
    python tests/benchmarks/placeholders.py MODEL --source dev.en.gz --target dev.ko.gz --catalogue

The first makes 2,000 sentences of five kinds from lines of text: numbers, web addresses, e-mail
addresses, placeholders of programs, and tags around a word. It prints how many come out with all of
these exactly once, how many of them the model placed by itself, and BLEU with them taken out again,
beside that of the lines as they are, with and without --protect.

The second writes the lines as a PO file, translates it, and prints in how many entries the markup
of the source is there as often as there, and BLEU. Both are done with placeholders, if the model
has any, and by alignment alone.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import nmt_cli
from nmt_cli.api.model import Model
from nmt_cli.documents.inline import Inline
from nmt_cli.documents.masking import MarkedTranslator
from nmt_cli.documents.protected import protected, protector
from nmt_cli.documents.translating import translate_document
from nmt_cli.evaluation.scores import corpus_scores
from nmt_cli.files import read_lines
from nmt_cli.text.tokenizer import Subwords

COUNT, WINDOW = 2000, 512
NUMBERS = ("numbers",)
Kind = Callable[[random.Random], list[str]]  # a word to put in, or two to put around a word


def _number(draw: random.Random) -> list[str]:
    return [
        draw.choice([f"{draw.randint(2, 9999)}", f"{draw.randint(1, 99)}.{draw.randint(1, 9)}"])
    ]


def _address(draw: random.Random) -> list[str]:
    return [f"https://www.site{draw.randint(1, 999)}.org/page/{draw.randint(1, 99)}?q=a"]


def _mail(draw: random.Random) -> list[str]:
    return [f"first.last{draw.randint(1, 999)}@mail-{draw.randint(1, 99)}.example.com"]


def _program(draw: random.Random) -> list[str]:
    return [draw.choice(["{name}", "%s", "%(count)d", "${home}", "{0}", "%1$s", "{{ user }}"])]


def _tag(draw: random.Random) -> list[str]:
    tag = draw.choice(["b", "i", "em", "strong", "code"])
    return [f"<{tag}>", f"</{tag}>"]


KINDS: dict[str, Kind] = {
    "numbers": _number,
    "web addresses": _address,
    "e-mail addresses": _mail,
    "placeholders": _program,
    "tags": _tag,
}


def with_words(line: str, words: Sequence[str], draw: random.Random) -> str:
    """Return a line with one word put in before another, or two around one."""
    found = line.split()
    at = draw.randrange(len(found))
    if len(words) == 1:
        return " ".join([*found[:at], words[0], *found[at:]])
    return " ".join([*found[:at], words[0] + found[at] + words[1], *found[at + 1 :]])


def translated(model: Model, texts: Sequence[Inline]) -> tuple[list[str], int, int]:
    """Return the outputs, how many texts had a word placed by the model, and by its neighbours."""
    translator = MarkedTranslator(model, model.search_options())
    outputs, by_model, guessed = [], 0, 0
    for start in range(0, len(texts), WINDOW):
        for hypotheses, filled in translator.translate(texts[start : start + WINDOW]):
            outputs.append(filled[0].text)
            by_model += any(token.startswith("<placeholder") for token in hypotheses[0].tokens)
            guessed += bool(filled[0].guessed)
    return outputs, by_model, guessed


def bleu(outputs: Sequence[str], references: Sequence[str], language: str) -> float:
    """Return BLEU."""
    return corpus_scores(list(outputs), list(references), language)["bleu"].score


def without_placeholders(path: str) -> Model:
    """Return a model that does not use its placeholders."""
    model = nmt_cli.load(path)
    source = Subwords(model.vocabularies.source.tokenizer, model.vocabularies.source.tags)
    source.placeholders = ()
    vars(model)["vocabularies"] = replace(model.vocabularies, source=source)
    return model


def five_kinds(path: str, sources: list[str], targets: list[str]) -> None:
    """Print what becomes of 2,000 sentences of five kinds."""
    draw, find = random.Random(1), protector(NUMBERS)
    rows = [i % len(sources) for i in range(COUNT)]
    kinds = [list(KINDS)[i * len(KINDS) // COUNT] for i in range(COUNT)]
    words = [KINDS[kind](draw) for kind in kinds]
    lines = [with_words(sources[i], of_line, draw) for i, of_line in zip(rows, words, strict=True)]
    for name, model in (
        ("placeholders", nmt_cli.load(path)),
        ("alignment", without_placeholders(path)),
    ):
        language = model.bundle.manifest.target_lang
        outputs, by_model, guessed = translated(model, [protected(line, find) for line in lines])
        kept, bare = Counter[str](), []
        for line, output, of_line, kind in zip(lines, outputs, words, kinds, strict=True):
            kept[kind] += all(output.count(word) == line.count(word) for word in of_line)
            for word in of_line:
                output = output.replace(word, "", 1)
            bare.append(" ".join(output.split()))
        shares = ", ".join(f"{k} {100 * kept[k] / kinds.count(k):.2f} %" for k in KINDS)
        print(f"{name}: kept {100 * kept.total() / COUNT:.2f} % ({shares})")
        print(f"  {by_model} with placeholders, {guessed} guessed of {COUNT}")
        references = [targets[i] for i in rows]
        print(f"  BLEU without the words: {bleu(bare, references, language):.2f}")
        plain, *_ = translated(model, [Inline(source) for source in sources])
        masked, *_ = translated(model, [protected(source, find) for source in sources])
        print(
            f"  clean text: BLEU {bleu(plain, targets, language):.2f}, "
            f"with --protect numbers {bleu(masked, targets, language):.2f}"
        )


def catalogue(path: str, sources: list[str], targets: list[str]) -> None:
    """Print what becomes of the entries of a PO file."""
    find = protector()
    with tempfile.TemporaryDirectory() as name:
        source, output = Path(name, "a.po"), Path(name, "b.po")
        head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        entries = (
            f'msgctxt "{i}"\nmsgid {_quoted(text)}\nmsgstr ""\n' for i, text in enumerate(sources)
        )
        source.write_text(head + "\n".join(entries), encoding="utf-8")
        for kind, model in (
            ("placeholders", nmt_cli.load(path)),
            ("alignment", without_placeholders(path)),
        ):
            outcome = translate_document(source, output, model)
            outputs = _translations(output)
            kept = sum(
                Counter(find.findall(text)) == Counter(find.findall(made))
                for text, made in zip(sources, outputs, strict=True)
            )
            has_any = [bool(find.search(text)) for text in sources]
            guessed = len({number for number, _ in outcome.guessed})
            score = bleu(outputs, targets, model.bundle.manifest.target_lang)
            print(
                f"{kind}: markup kept in {kept} of {len(sources)} entries ({sum(has_any)} have "
                f"some), guessed in {guessed}, BLEU {score:.2f}"
            )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _translations(path: Path) -> list[str]:
    from translate.storage import po

    store = po.pofile()
    store.parse(path.read_bytes())
    return [str(unit.target) for unit in store.units if unit.source]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--catalogue", action="store_true")
    arguments = parser.parse_args()
    sides = [[line.strip() for line in read_lines(p)] for p in (arguments.source, arguments.target)]
    (catalogue if arguments.catalogue else five_kinds)(arguments.model, *sides)


if __name__ == "__main__":
    main()
