"""The sinusoidal position table."""

import math
import subprocess
import sys

import numpy as np
import pytest
from numpy_transformer import sinusoidal_positions
from pydantic import ValidationError

from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import ConfigError
from nmt_cli.model.weights import sinusoids


def test_row_one_gives_the_known_values():
    expected = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    np.testing.assert_allclose(sinusoids(2, 4)[1], expected, rtol=1e-7)  # float32


def test_position_zero_has_sines_zero_and_cosines_one():
    assert sinusoids(1, 6).tolist() == [[0, 1, 0, 1, 0, 1]]


def test_even_columns_are_sines_and_odd_columns_cosines_by_the_formula():
    table = sinusoids(500, 12)
    assert table.dtype == np.float32
    # Computed in double, rounded once: half a unit in the last place of a number below one.
    np.testing.assert_allclose(table, sinusoidal_positions(500, 12), rtol=0, atol=6e-8)


def test_an_odd_width_is_refused():
    with pytest.raises(ConfigError, match=r"model\.d_model: .*even number \(it is 5\)"):
        sinusoids(3, 5)


def test_an_odd_width_is_refused_in_the_configuration_too():
    with pytest.raises(ValidationError, match=r"need an even d_model \(it is 5\)"):
        ModelConfig(d_model=5, num_heads=1)


def test_this_module_needs_no_tensorflow():
    code = "import sys, nmt_cli.model.weights; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
