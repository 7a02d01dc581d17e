"""A picture to a file, or to the screen."""

from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.report.picture import Picture
    from nmt_cli.search.labeller import Labelled


def check_output(output: str | None) -> None:
    """Raise ConfigError now, before slow work, if a picture cannot be written to a file."""
    from nmt_cli.report.picture import check_format

    if output is not None:
        check_format(Path(output))


def show(picture: "Picture", output: str | None) -> None:
    """Write a picture to a file, or print it where there is none.

    Raises:
        DataError: The file cannot be written.
    """
    from nmt_cli.report.picture import write_picture

    if output is not None:
        write_picture(picture, Path(output), on_warning=console.warn)
        console.note(f"the picture is in {output}")
        return
    screen = console.rich_stdout()
    has_colour = screen.color_system is not None and not screen.no_color
    screen.print(picture.screen(screen.width, has_colour=has_colour), end="", soft_wrap=True)


def show_attention(model: "Model", ids: tuple[list[int], list[int]], output: str) -> None:
    """Draw what every head looked at when a model made target ids of source ids."""
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_ids

    show(attention_of(attended_ids(model.bundle, model.vocabularies, ids, model.engine)), output)


def show_label_attention(model: "Model", labelled: "Labelled", output: str) -> None:
    """Draw what every head of a classifier looked at."""
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_labels

    show(attention_of(attended_labels(model.bundle, model.labeller, labelled)), output)
