"""The examples for Spark and Beam in nmt_cli/search/README.md, run where these are installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "nmt_cli/search/README.md"


@pytest.mark.parametrize("engine", ["pyspark", "apache_beam"])
def test_a_recipe_translates_a_file(engine, toy_bundle, tmp_path):
    pytest.importorskip(engine)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    (recipe,) = (example for example in examples if f" {engine}" in example)
    recipe = recipe.replace("/models/my", str(toy_bundle))
    # Beam pickles what is defined in the main program by value.
    (tmp_path / "recipe.py").write_text(recipe)
    (tmp_path / "big.en").write_text("red dog\nold cat\nbig bird\n" * 50)
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, env=environment, check=True)
    made = sorted([*tmp_path.glob("big.de/part-*"), *tmp_path.glob("big.tsv-*")])
    lines = "".join(file.read_text() for file in made).splitlines()
    if engine == "pyspark":
        assert lines == ["rot hund", "alt katze", "dick vogel"] * 50
    else:
        expected = ["red dog\trot hund", "old cat\talt katze", "big bird\tdick vogel"]
        assert sorted(lines) == sorted(expected * 50)
