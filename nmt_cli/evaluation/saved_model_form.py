"""A bundle as a SavedModel, scored and timed on dev by what it does when loaded."""

from collections.abc import Sequence
from pathlib import Path

from nmt_cli.bundle.folder import Bundle
from nmt_cli.config.schema import Config
from nmt_cli.evaluation.number_formats import Measured, measure_form
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.saved_model import ServedEngine, save_serving_model
from nmt_cli.search.tensorflow_engine import load_model
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import Encoder


def export_saved_model(
    bundle: Bundle, encoder: Encoder, config: Config, dev: Sequence[Example], path: Path
) -> Measured:
    """Write a bundle as a SavedModel to a folder and return what is known of it.

    Raises:
        ModelFileError: The bundle's weights are damaged.
    """
    options = SearchOptions.from_mapping(bundle.manifest.decode)
    save_serving_model(load_model(bundle), options, path)
    engine = ServedEngine(path, max_length=config.model.max_length)
    return measure_form(engine, options, encoder, config, dev, "saved_model", path)
