"""`nmt help TOPIC`: the pages that stand beside the code and the data, in the terminal."""

import sys
from pathlib import Path
from typing import NamedTuple

from nmt_cli.errors import ConfigError, did_you_mean
from nmt_cli.resources import bundled_root
from nmt_cli.terminal import console


class Topic(NamedTuple):
    """What a name shows: a page, or the part of one below a heading."""

    about: str
    page: str
    heading: str | None = None


_USING = "nmt_cli/search/README.md"
TOPICS = {
    "start": Topic("a first model, then one on your own text", "README.md"),
    "config": Topic("every key of a configuration", "configs/README.md"),
    "formats": Topic(
        "which files nmt reads, and how to name them", "configs/README.md", "Where the text is"
    ),
    "auto": Topic(
        "automatic choices and time limits",
        "configs/README.md",
        "`auto`, and how long training takes",
    ),
    "data": Topic("checking text, public data sets, samples", "data/README.md"),
    "train": Topic("stopping, resuming, recovery, fine-tuning", "nmt_cli/training/README.md"),
    "distributed": Topic(
        "encoding and training on many machines", "nmt_cli/training/README.md", "Many machines"
    ),
    "translate": Topic("lines, files, the prompt", _USING, "Translating"),
    "documents": Topic("web pages, office files, PDF, subtitles", "nmt_cli/documents/README.md"),
    "glossaries": Topic("terms as a file says", _USING, "Glossaries"),
    "memories": Topic("translations that people made before", _USING, "Translation memories"),
    "review": Topic("a page to read and mend translations", _USING, "Reviewing"),
    "shards": Topic("one file on many machines", _USING, "One file on many machines"),
    "ensembles": Topic("several models that choose together", _USING, "Ensembles"),
    "engines": Topic(
        "the two engines, number formats", _USING, "Two engines, several number formats"
    ),
    "share": Topic("sharing a model as one file", _USING, "Sharing"),
    "chat": Topic("conversations, slash commands", _USING, "Chat"),
    "classify": Topic("labels for texts", _USING, "Classification"),
    "evaluate": Topic("scores, comparisons", _USING, "Evaluating"),
    "pretrained": Topic("pretrained models: import, fine-tune", "nmt_cli/pretrained/README.md"),
    "augment": Topic("better models from little text", "nmt_cli/augmentation/README.md"),
    "serve": Topic("models over HTTP, and a web page", "nmt_cli/server/README.md"),
    "pictures": Topic("reports, pictures, attention", "nmt_cli/report/README.md"),
    "api": Topic("nmt from Python", "nmt_cli/README.md", "From Python"),
    "code": Topic("the structure of the code", "nmt_cli/README.md", "The rooms of the code"),
}


def show_topic(name: str) -> None:
    """Show a topic: laid out, in a pager if it is long, on a terminal; as it is in a pipe.

    ConfigError: there is no such topic.
    """
    if name not in TOPICS:
        raise ConfigError(
            f"{name}: no such command or topic.{did_you_mean(name, TOPICS)}",
            hint=f"topics: {', '.join(TOPICS)}",
        )
    text = topic_text(TOPICS[name])
    if not sys.stdout.isatty():
        console.result(text.removesuffix("\n"))
        return
    from rich.markdown import Markdown

    screen = console.rich_stdout()
    if text.count("\n") < screen.height - 2:
        screen.print(Markdown(text))
        return
    with screen.pager(styles=True):
        screen.print(Markdown(text))


def topic_list() -> str:
    """Return the topics with what they are about, a line each."""
    width = max(map(len, TOPICS))
    lines = (f"  {name:<{width}}  {topic.about}" for name, topic in TOPICS.items())
    return "Topics, with nmt help TOPIC:\n" + "\n".join(lines)


def topic_text(topic: Topic) -> str:
    """Return a topic's Markdown, its heading first."""
    text = _page(topic.page).read_text(encoding="utf-8")
    if topic.heading is None:
        return text
    start = text.index(f"\n## {topic.heading}\n") + 1
    end = text.find("\n## ", start)
    return text[start:] if end < 0 else text[start : end + 1]


def _page(name: str) -> Path:
    """Return a page's file: those of the package's rooms lie in it, others with the samples."""
    inside = Path(name)
    if inside.parts[0] == "nmt_cli":
        return Path(__file__).parents[1].joinpath(*inside.parts[1:])
    return bundled_root() / name
