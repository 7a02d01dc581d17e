"""The matrices that tell a model where in a sentence a piece stands."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nmt_cli.report.canvas import ABOVE, BELOW, PAPER, colour_map, new_figure
from nmt_cli.report.picture import Picture
from nmt_cli.report.terminal import matrix_plot, side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

Matrix = npt.NDArray[np.float32]
_TABLE = 16  # rows and columns of the numbers


@dataclass(frozen=True, kw_only=True)
class Positions(Picture):
    """Position matrices by name, each [positions, d_model]."""

    title: str
    matrices: dict[str, Matrix]

    def texts(self) -> str:
        """See `Picture.texts`."""
        return "".join([self.title, *self.matrices])

    def screen(self, width: int, *, has_colour: bool) -> "Text":
        """Return the matrices with many numbers in one character, their mean."""
        return side_by_side(
            f"{self.title}; a line is a position, a column a dimension",
            [
                partial(matrix_plot, name, matrix, has_colour=has_colour)
                for name, matrix in self.matrices.items()
            ],
            width,
        )

    def table(self) -> list[tuple[str, ...]]:
        """Return the upper left corner of each matrix."""
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
