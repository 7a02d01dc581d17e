"""What TensorBoard would show, read back from its files."""

import json
from pathlib import Path

import pytest
import tensorflow as tf

from nmt_cli.errors import TrainingError
from nmt_cli.training.tensorboard import Board

STEP = {
    "event": "StepDone",
    "step": 10,
    "loss": 2.5,
    "learning_rate": 0.25,
    "gradient_norm": 1.5,
    "padding": 0.125,
    "num_tokens": 300,
    "seconds": 0.5,
}
EVALUATED = {
    "event": "Evaluated",
    "step": 20,
    "label": "dev",
    "dev_loss": 1.5,
    "scores": {"bleu": {"score": 25.0, "signature": "x"}},
    "samples": [{"source": "a | b", "output": "c", "reference": "d"}],
}


def shown(folder: Path) -> list[tuple[str, int, float | str]]:
    """Return tag, step and value of all summaries."""
    found = []
    for file in sorted(folder.iterdir()):
        for record in tf.data.TFRecordDataset(str(file)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                content = tf.make_ndarray(value.tensor)
                plain = content.item()
                text = plain.decode() if isinstance(plain, bytes) else plain
                found.append((value.tag, event.step, text))
    return found


def test_steps_and_scores_are_shown(tmp_path):
    board = Board(tmp_path / "board", [])
    for event in (STEP, EVALUATED, {"event": "Saved", "step": 20, "path": "x"}):
        board.write(event)
    board.close()
    *scalars, (tag, step, text) = shown(tmp_path / "board")
    assert scalars == [
        ("train/loss", 10, 2.5),
        ("train/learning_rate", 10, 0.25),
        ("train/gradient_norm", 10, 1.5),
        ("train/padding", 10, 0.125),
        ("train/tokens_per_second", 10, 600.0),
        ("dev/loss", 20, 1.5),
        ("dev/bleu", 20, 25.0),
    ]
    assert (tag, step) == ("dev/samples", 20)
    assert text.splitlines()[-1] == r"| a \| b | c | d |"


def test_a_session_that_goes_on_shows_every_step_once(tmp_path):
    first = Board(tmp_path / "board", [])
    for event in (STEP, EVALUATED, STEP | {"step": 30}):
        first.write(event)
    first.close()
    second = Board(tmp_path / "board", [STEP, EVALUATED])  # step 30 was lost
    second.write(STEP | {"step": 30})
    second.close()
    steps = [step for tag, step, _ in shown(tmp_path / "board") if tag == "train/loss"]
    assert steps == [10, 30]


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="board: cannot be written"):
        Board(tmp_path / "file" / "board", [STEP]).close()


def test_a_run_writes_it_when_asked(toy_corpus, tmp_path, monkeypatch):
    from nmt_cli.config.reading import load_config
    from nmt_cli.training.loop import train
    from nmt_cli.training.run import prepare

    monkeypatch.chdir(tmp_path)
    small = ["task=chat", "train.max_steps=10", "train.tensorboard=true", "decode.max_length=6"]
    loaded = load_config(str(toy_corpus / "toy.yaml"), small)
    events = list(train(prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)))
    found = shown(Path("runs/toy/tensorboard"))
    (loss,) = [value for tag, step, value in found if (tag, step) == ("train/loss", 10)]
    lines = map(json.loads, Path("runs/toy/events.jsonl").read_text().splitlines())
    logged = next(e["loss"] for e in lines if e["event"] == "StepDone")
    assert loss == pytest.approx(logged, rel=1e-6)
    assert type(events[-1]).__name__ == "Finished"
    assert "dev/samples" in {tag for tag, _, _ in found}
