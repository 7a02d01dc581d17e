"""The ids and names of the tokens that are no text: one source for tokenizer, model and search."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.config.schema import DataConfig

PAD_ID, BOS_ID, EOS_ID, USER_ID, BOT_ID, PERSONA_ID = range(6)
CONTROL_TOKENS = ("<pad>", "<s>", "</s>", "<user>", "<bot>", "<persona>")
# They stand for words that stay as they are, in vocabularies that have them (`placeholders.py`).
PLACEHOLDERS = tuple(f"<placeholder{number}>" for number in range(1, 9))
# What stands for each of them in a text: Unicode's noncharacters, which are not for interchange.
SIGNS = "".join(map(chr, range(0xFDD0, 0xFDD0 + len(PLACEHOLDERS))))
# Between them a source has what a word of it shall become (`term_lessons.py`).
TERM_MARKS = ("<term>", "</term>")
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))

UNKNOWN = "<unk>"  # of imported vocabularies; ours write what they do not know in bytes
HIDDEN = " "  # in imported vocabularies: begins a name that no text may make
WORD_MARKER = "\u2581"  # the word marker, as SentencePiece writes it


def taught_tokens(data: "DataConfig") -> tuple[str, ...]:
    """Return the tokens that no text makes, and whose use training teaches."""
    return (PLACEHOLDERS if data.placeholders else ()) + (TERM_MARKS if data.glossary else ())


def never_written(num_tags: int) -> list[int]:
    """Return the ids that no output holds: control tokens but `</s>`, and tags of languages."""
    return [i for i in range(len(CONTROL_TOKENS) + num_tags) if i != EOS_ID]
