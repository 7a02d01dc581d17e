"""Tests of nmt_cli/text/vocabulary.py: trained once, used again while nothing changed."""

import contextlib
from pathlib import Path

import pytest

from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError, ModelFileError, TrainingError
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.text.vocabulary_cache import load_or_train

DATA = {"train": [{"source": "a.en", "target": "a.de"}], "dev": [{"file": "dev.tsv"}]}


@pytest.fixture(scope="module", autouse=True)
def no_fsync():
    """Nothing here is about a power cut, and flushing thousands of files takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture
def folder(tmp_path):
    """A folder with the corpus."""
    (tmp_path / "a.en").write_text("the dog sleeps\na cat sees the dog\n" * 20)
    (tmp_path / "a.de").write_text("der Hund schläft\neine Katze sieht den Hund\n" * 20)
    return tmp_path


@pytest.fixture
def make(folder):
    """A function that makes or reuses the vocabularies in `folder / "run"`."""

    def make(**changes) -> tuple[Vocabularies, bool]:
        tokenizer = {"vocab_size": 330, **changes.pop("tokenizer", {})}
        config = Config.model_validate(
            {"name": "x", "data": DATA, "tokenizer": tokenizer, **changes}
        )
        return load_or_train(config, Corpora(config, folder), folder / "run")

    return make


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "run").iterdir()}


class TestTraining:
    def test_joint_is_one_vocabulary_of_both_sides(self, make, folder):
        vocabularies, is_new = make()
        assert is_new
        assert vocabularies.joint
        assert vocabularies.source is vocabularies.target
        assert vocabularies.describe() == {
            "source": vocabularies.source.vocab_size,
            "target": vocabularies.source.vocab_size,
            "joint": True,
        }
        for text in ("dog", "Hund"):
            assert vocabularies.source.tokens(vocabularies.source.encode(text)) == [f"▁{text}"]
        assert files(folder) == {"tokenizer.json", "tokenizer.key"}

    def test_separate_is_one_vocabulary_a_side(self, make, folder):
        vocabularies, _ = make(tokenizer={"joint": False})
        source, target = vocabularies.source, vocabularies.target
        assert not vocabularies.joint
        assert source.tokens(source.encode("dog")) == ["▁dog"]
        assert target.tokens(target.encode("Hund")) == ["▁Hund"]
        assert len(source.encode("Hund")) > 1
        assert len(target.encode("dog")) > 1
        assert files(folder) == {
            "tokenizer.source.json",
            "tokenizer.target.json",
            "tokenizer.key",
        }

    def test_separate_stays_separate_even_when_both_are_equal(self, make, folder):
        (folder / "a.de").write_text((folder / "a.en").read_text())
        vocabularies, _ = make(tokenizer={"joint": False})
        assert vocabularies.source.to_json() == vocabularies.target.to_json()
        assert not vocabularies.joint
        assert not Vocabularies.load(folder / "run").joint

    def test_held_out_rows_are_not_seen(self, folder, make):
        (folder / "a.en").write_text("".join(f"line {'xyzuvw'[n % 6] * 5}{n}\n" for n in range(60)))
        (folder / "a.de").write_text("x\n" * 60)
        all_rows, _ = make()
        some_rows, is_new = make(data={**DATA, "dev": [{"rows": 40}]})
        assert is_new
        assert some_rows.source.to_json() != all_rows.source.to_json()

    @pytest.mark.parametrize("content", ["", "\n\n \n"])
    def test_nothing_to_train_on_is_told(self, make, folder, content):
        for name in ("a.en", "a.de"):
            (folder / name).write_text(content)
        with pytest.raises(TrainingError) as caught:
            make()
        assert str(caught.value) == (
            f"{folder}/a.en, {folder}/a.de: no pair of lines has text on both sides"
        )

    def test_wrong_text_is_told_with_its_line(self, make, folder):
        (folder / "a.de").write_bytes(b"ok\n" * 30 + b"\xff\n" + b"ok\n" * 9)
        with pytest.raises(DataError, match=r"a\.de:31: not valid UTF-8"):
            make()
        assert not (folder / "run").exists()

    def test_a_missing_file_is_told(self, make, folder):
        (folder / "a.de").unlink()
        with pytest.raises(DataError, match=r"a\.de: no such file"):
            make()


class TestReuse:
    @pytest.mark.parametrize("joint", [True, False])
    def test_while_nothing_changed(self, make, monkeypatch, joint):
        before, _ = make(tokenizer={"joint": joint})
        monkeypatch.setattr(Subwords, "train", None)
        after, is_new = make(tokenizer={"joint": joint})
        assert not is_new
        assert after.joint == joint
        assert after.source.to_json() == before.source.to_json()
        assert after.target.to_json() == before.target.to_json()

    @pytest.mark.parametrize(
        "change",
        [
            {"tokenizer": {"vocab_size": 320}},
            {"tokenizer": {"joint": False}},
            {"tokenizer": {"lowercase": True}},
            {"tokenizer": {"normalization": "none"}},
            {"task": "chat"},
            {"data": {**DATA, "dev": [{"rows": 3}]}},
            {"data": {**DATA, "train": [{"file": "a.en", "columns": [1, 1]}]}},
        ],
    )
    def test_not_after_a_change_of_settings(self, make, change):
        make()
        assert make(**change)[1]
        assert not make(**change)[1]
        assert make()[1]

    def test_not_after_a_change_of_the_text(self, make, folder):
        make()
        with (folder / "a.de").open("a") as stream:
            stream.write("noch\n")
        with (folder / "a.en").open("a") as stream:
            stream.write("more\n")
        assert make()[1]
        assert not make()[1]

    def test_other_settings_do_not_matter(self, make):
        make()
        assert not make(train={"max_steps": 3}, model={"d_model": 64})[1]

    def test_the_other_kinds_files_go(self, make, folder):
        make(tokenizer={"joint": False})
        make()
        assert files(folder) == {"tokenizer.json", "tokenizer.key"}
        make(tokenizer={"joint": False})
        assert "tokenizer.json" not in files(folder)

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"3", b"[" * 100_000])
    def test_a_damaged_key_means_training_again(self, make, folder, content):
        make()
        (folder / "run" / "tokenizer.key").write_bytes(content)
        assert make()[1]

    @pytest.mark.parametrize("good_calls", range(8))
    @pytest.mark.parametrize("joint", [True, False])
    @pytest.mark.parametrize("next_joint", [True, False])
    def test_breaking_off_anywhere_leaves_a_folder_to_go_on_with(
        self, make, folder, monkeypatch, good_calls, joint, next_joint
    ):
        """Whatever a killed run did to the files, the next run gets the vocabulary it asks for."""
        make(tokenizer={"joint": not joint})
        calls = []

        class Killed(BaseException):
            pass

        def dying(real):
            def call(*arguments, **options):
                calls.append(real)
                if len(calls) > good_calls:
                    raise Killed
                return real(*arguments, **options)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", dying(Path.unlink))
            patch.setattr(Path, "replace", dying(Path.replace))
            with contextlib.suppress(Killed):
                make(tokenizer={"joint": joint})
        assert len(calls) > min(good_calls, 5)
        assert make(tokenizer={"joint": next_joint})[0].joint == next_joint
        assert not make(tokenizer={"joint": next_joint})[1]

    def test_a_damaged_vocabulary_is_trained_again(self, make, folder):
        first, _ = make()
        (folder / "run" / "tokenizer.json").write_text("{}")
        again, is_new = make()
        assert (again.source.to_json(), is_new) == (first.source.to_json(), True)


class TestLoad:
    @pytest.mark.parametrize("joint", [True, False])
    def test_what_was_saved(self, make, tmp_path, joint):
        saved, _ = make(tokenizer={"joint": joint})
        (tmp_path / "bundle").mkdir()
        saved.save(tmp_path / "bundle")
        loaded = Vocabularies.load(tmp_path / "bundle")
        assert loaded.joint == joint
        assert loaded.describe() == saved.describe()
        assert loaded.target.to_json() == saved.target.to_json()

    def test_a_missing_file_is_told(self, make, folder):
        with pytest.raises(ModelFileError, match=r"tokenizer\.json: no such file"):
            Vocabularies.load(folder)
        make(tokenizer={"joint": False})
        (folder / "run" / "tokenizer.target.json").unlink()
        with pytest.raises(ModelFileError, match=r"tokenizer\.target\.json: no such file"):
            Vocabularies.load(folder / "run")
