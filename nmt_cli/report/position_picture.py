"""The matrices that tell a model where in a sentence a token stands."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nmt_cli.bundle.folder import Bundle
from nmt_cli.errors import ConfigError
from nmt_cli.model.weights import sinusoids
from nmt_cli.report.picture import ABOVE, BELOW, PAPER, Picture, colour_map, new_figure
from nmt_cli.report.terminal import matrix_plot, side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

Matrix = npt.NDArray[np.float32]
_TABLE = 16  # rows and columns of the numbers
_SINUSOIDS = 100  # positions, where neither a model nor the user says how many


@dataclass(frozen=True, kw_only=True)
class Positions(Picture):
    """Position matrices by name, each [positions, d_model]."""

    title: str
    matrices: dict[str, Matrix]

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the matrices with many numbers in one character, their mean."""
        return side_by_side(
            f"{self.title}; rows are positions, columns dimensions",
            [
                partial(matrix_plot, name, matrix, has_colour=has_colour)
                for name, matrix in self.matrices.items()
            ],
            width,
        )

    def _numbers(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("matrix, position", *map(str, range(_TABLE)))]
        for name, matrix in self.matrices.items():
            for position, row in enumerate(matrix[:_TABLE, :_TABLE]):
                rows.append((f"{name}, {position}", *(f"{x:.3f}" for x in row)))
        return rows

    def _draw(self) -> "Figure":
        figure = new_figure(6.5 * len(self.matrices), 5.0)
        (grid,) = figure.subplots(1, len(self.matrices), squeeze=False)
        for axes, (name, matrix) in zip(grid, self.matrices.items(), strict=True):
            most = float(np.abs(matrix).max())
            image = axes.imshow(
                matrix,
                cmap=colour_map(BELOW, PAPER, ABOVE),
                vmin=-most,
                vmax=most,
                aspect="auto",
                interpolation="none",
            )
            figure.colorbar(image, ax=axes)
            axes.set_title(name)
            axes.set_xlabel("dimension")
            axes.set_ylabel("position")
        return figure


def positions_of(bundle: Bundle, length: int | None) -> Positions:
    """Return the first position vectors of a model, `length` of them or all."""
    model = bundle.manifest.model
    length = _checked_length(length, model["max_length"])
    if (kind := model["positions"]) != "sinusoidal":
        weights = bundle.load_weights()
        matrices = {
            f"{kind}, {side}": weights[f"{side}.positions"][:length]
            for side in ("encoder", "decoder")
            if f"{side}.positions" in weights
        }
    else:
        name = "sinusoidal" if bundle.manifest.facts.has_labels else "sinusoidal, both sides"
        matrices = {name: sinusoids(length, model["d_model"])}
    return Positions(title=f"{bundle.manifest.name}: positions", matrices=matrices)


def sinusoids_of(d_model: int, length: int | None) -> Positions:
    """Return sinusoids of a width, without any model.

    Raises:
        ConfigError: The width is odd or not positive.
    """
    if d_model < 2:
        raise ConfigError(f"--d-model must be at least 2 (it is {d_model})")
    matrix = sinusoids(_checked_length(length, None), d_model)
    return Positions(title=f"positions, d_model {d_model}", matrices={"sinusoidal": matrix})


def _checked_length(length: int | None, longest: int | None) -> int:
    if length is None:
        return longest or _SINUSOIDS
    if length < 1 or (longest is not None and length > longest):
        most = f" to {longest}, the model's" if longest else ""
        raise ConfigError(f"--length must be from 1{most} (it is {length})")
    return length
