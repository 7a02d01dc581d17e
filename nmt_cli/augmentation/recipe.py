"""`nmt init --recipe`: what `config/recipes.py` proposes for one text, with its time here."""

import shlex

from nmt_cli.augmentation.forecast import Forecast, this_machine
from nmt_cli.augmentation.plan import DIVERSIFY, Augmentation
from nmt_cli.config.auto import Choice
from nmt_cli.config.pace import seconds_of, spoken, step_seconds
from nmt_cli.config.reading import LoadedConfig
from nmt_cli.config.recipes import BEST, FAST, FAST_LIMIT, SOURCES, Proposal, copies
from nmt_cli.errors import ConfigError
from nmt_cli.text.statistics import sample_text
from nmt_cli.training.auto_values import foretold_time, made_choices, mean_lengths, open_text
from nmt_cli.training.time_box import too_short, training_seconds


def propose(recipe: str, loaded: LoadedConfig) -> Proposal:
    """Return what a recipe proposes for the text of a configuration, named as its file.

    Raises:
        ConfigError: There is no `best` for this task.
        DataError, TrainingError: The text cannot be read, or there is no training pair.
    """
    if recipe == FAST:
        return _fast(loaded)
    if not loaded.config.facts.is_parallel:
        raise ConfigError(
            f"--recipe {BEST} is for translation; this is {loaded.config.task}",
            hint=f"--recipe {FAST} is for every task",
        )
    return _best(loaded)


def _fast(loaded: LoadedConfig) -> Proposal:
    """Return what `auto` chooses for a short time limit, each value with its reason."""
    opened, corpora = open_text(loaded)
    limit, machine = seconds_of(FAST_LIMIT), this_machine()
    config, choices = made_choices(opened, corpora, machine, limit)
    text, sample = sample_text(corpora)
    lengths, pace = mean_lengths(sample, config), machine.pace()
    there_is_time_for = training_seconds(limit, text.pairs) / step_seconds(config, lengths, pace)
    if there_is_time_for < config.train.max_steps:  # which are the most that would be of use
        steps = max(1, int(there_is_time_for))
        choices["train.max_steps"] = Choice(steps, f"there is time for them in {FAST_LIMIT}")
    notes = {key: f"{key.split('.')[1]}: {choice.reason}" for key, choice in choices.items()}
    short = too_short(limit, config, lengths, text.pairs, pace)
    command = shlex.join(["nmt", "train", loaded.name, "--time", FAST_LIMIT])
    why = short or "its sizes are those that learn most in that time here"
    values = {key: choice.value for key, choice in choices.items()}
    return Proposal(
        values,
        {name: f"Sources: {of}" for name, of in SOURCES.items()} | notes,
        [f"{command}   # {why}"],
    )


def _best(loaded: LoadedConfig) -> Proposal:
    """Return trainings without a time limit, on text that models add to where that pays."""
    _, corpora = open_text(loaded)
    number, why = copies(loaded.config, sample_text(corpora)[0].pairs)
    notes = {
        name: f"auto looks at the text of each training by itself. Sources: {of}"
        for name, of in SOURCES.items()
    }
    if not number:
        train = shlex.join(["nmt", "train", loaded.name])
        return Proposal({}, notes, [f"{train}   # {foretold_time(loaded)}; {why}"])
    plan = Augmentation(loaded=loaded, method=DIVERSIFY, copies=number, is_fresh=True)
    forecast = Forecast(plan)
    _, making = forecast.making()
    learning = forecast.learning()
    augment = shlex.join(["nmt", "augment", loaded.name, "--copies", str(number)])
    train = shlex.join(["nmt", "train", f"{loaded.config.name}-augmented.yaml"])
    return Proposal(
        {},
        notes,
        [
            f"{augment}   # about {spoken(making)}: {why}",
            f"{train}   # up to {spoken(learning)}: on the text and all that was made of it",
        ],
    )
