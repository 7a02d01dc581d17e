"""Which encoding a text is in, told from samples of real languages."""

import gzip
import os
import shutil
import subprocess
import threading

import pytest

from nmt_cli.encoding import check_encoding, encoding_of, find_encoding
from nmt_cli.errors import DataError
from nmt_cli.files import read_lines

KOREAN = "안녕하세요, 반갑습니다.\n오늘 날씨가 좋네요. Python 3\n"
GERMAN = "Ein kleiner Junge läuft über die Straße.\nDie Vögel fliegen früh nach Süden.\n" * 3
FRENCH = "Voilà une journée où l'été est là, ça va être génial.\nLe garçon est tombé.\n" * 3
JAPANESE = "これは日本語の文章です。今日は天気がいいですね。\n" * 3
CHINESE = "今天天气很好,我们去公园玩吧。他是一个学生。\n" * 3
RUSSIAN = "Сегодня хорошая погода, пойдём гулять в парк.\n" * 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (KOREAN, "cp949"),
        (KOREAN, "utf-8"),
        (KOREAN, "utf-8-sig"),
        (KOREAN, "utf-16"),
        (KOREAN, "utf-32"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "cp1252"),
        (FRENCH, "cp1252"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
        (RUSSIAN, "cp1251"),
    ],
)
def test_the_text_is_read_as_it_was_written(tmp_path, text, encoding):
    found = encoding_of(text.encode(encoding))
    assert found is not None
    assert text.encode(encoding).decode(found.encoding).removeprefix("\ufeff") == text
    for name, write in (("plain", open), ("packed.gz", gzip.open)):
        with write(tmp_path / name, "wb") as stream:
            stream.write(text.encode(encoding))
        assert find_encoding(tmp_path / name) == found
        if found.is_certain:
            assert list(read_lines(tmp_path / name, encoding="auto")) == text.splitlines()
        assert list(read_lines(tmp_path / name, encoding=found.encoding)) == text.splitlines()


@pytest.mark.parametrize(
    ("encoding", "hint"),
    [("cp949", "it is CP949 (Korean): use --encoding cp949"), ("utf-16", "it is UTF-16: ")],
)
def test_the_error_names_the_encoding_and_the_command_that_converts(tmp_path, encoding, hint):
    path = tmp_path / "my text.txt"
    path.write_bytes(KOREAN.encode(encoding))
    with pytest.raises(DataError, match=r"my text\.txt:1: not valid UTF-8") as caught:
        list(read_lines(path))
    assert hint in caught.value.hint
    assert f"iconv -f {encoding.upper()} -t UTF-8 '{path}' > NEW" in caught.value.hint


def test_a_line_that_is_not_in_the_encoding_is_named(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(KOREAN.encode("cp949") + b"\xff\xff\n")
    with pytest.raises(DataError, match="text:3: not valid CP949"):
        list(read_lines(path, encoding="cp949"))
    path.write_bytes("a\nb".encode("utf-16")[:-1])
    with pytest.raises(DataError, match="not valid UTF-16"):
        list(read_lines(path, encoding="utf-16"))


@pytest.mark.parametrize("name", ["klingon", "base64", "", "utf 8\0"])
def test_what_is_no_encoding_of_text_is_refused(name):
    with pytest.raises(ValueError, match="not a text encoding"):
        check_encoding(name)


def test_a_damaged_line_is_no_other_encoding():
    assert encoding_of(b"Der alte Mann.\n" * 120 + b"\xff\xfe\n") is None
    assert encoding_of(b"Der alte Mann.\n" * 3 + b"\xfcber\n").encoding == "cp1252"


@pytest.mark.parametrize("text", [KOREAN, RUSSIAN, GERMAN])
def test_lines_of_utf_8_that_were_cut_between_bytes_are_no_other_encoding(tmp_path, text):
    cut = b"".join(line[1:22] + b"\n" for line in text.encode().splitlines() * 4)
    assert encoding_of(cut).encoding == "utf-8"
    (tmp_path / "text").write_bytes(cut + "한국어".encode()[:-1] + b"\n")
    with pytest.raises(DataError, match="not valid UTF-8") as caught:
        list(read_lines(tmp_path / "text"))
    assert "lines around it are UTF-8" in caught.value.hint


@pytest.mark.parametrize("given", ["cp949", "utf-16"])
def test_who_named_another_encoding_is_not_sent_in_a_circle(tmp_path, given):
    path = tmp_path / "text"
    path.write_text("“Größe”\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_lines(path, encoding=given))
    assert str(caught.value).startswith(f"{path}:1: not valid CP949" if given == "cp949" else
                                        f"{path}: not valid UTF-16")  # fmt: skip
    assert caught.value.hint == (
        "it is UTF-8: use --encoding auto (in training: --set data.encoding=auto)"
    )


def test_noise_is_no_text():
    assert (
        encoding_of(bytes(range(128, 256)) * 40) is None
        or not encoding_of(bytes(range(128, 256)) * 40).is_certain
    )


KOREAN_LINES = (
    "가게 문을 닫았어.\n상황이 안 좋아졌다.\n각자 알아서 해 주세요.\n오늘 날씨가 좋네요.\n"
)
POLISH = "Dziękuję bardzo za pomoc.\nZażółć gęślą jaźń.\nMój brat pracuje w dużej firmie.\n" * 3
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy.\nVčera večer sněžilo.\n"
GREEK = "Ευχαριστώ πολύ.\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (KOREAN_LINES, "utf-16le"),
        (KOREAN_LINES, "utf-16be"),
        (KOREAN_LINES, "johab"),
        (RUSSIAN, "utf-16le"),
        (CHINESE, "utf-16be"),
        (JAPANESE, "utf-16le"),
        ("Привет, как дела?\n", "koi8-r"),
        ("Привет, как дела?\n", "cp1251"),
        ("Привет, как дела?\n", "cp866"),
        (GERMAN, "cp850"),
        (GERMAN, "macintosh"),
        (FRENCH, "cp850"),
        (FRENCH, "macintosh"),
        (POLISH, "cp1250"),
        (POLISH, "iso-8859-2"),
        (CZECH, "cp852"),
        (GREEK, "cp1253"),
    ],
)
def test_encodings_that_share_their_bytes_are_told_apart_with_certainty(text, encoding):
    found = encoding_of(text.encode(encoding))
    assert found is not None
    assert text.encode(encoding).decode(found.encoding) == text
    assert found.is_certain


def test_a_few_letters_are_no_proof():
    found = encoding_of("Müller\n".encode("cp1252"))
    assert found is not None
    assert str(found) == "it may be CP1252 (German)"


@pytest.mark.parametrize("raw", [b"one\0two\nthree\n", "한국어\0 문장\n".encode(), b"\0" * 40])
def test_zeros_in_utf_8_are_damage_and_no_utf_16(raw):
    assert encoding_of(raw) == ("utf-8", "", True)


@pytest.mark.parametrize("encoding", ["utf-16le", "koi8-r", "macintosh", "euc-jp", "iso-8859-2"])
def test_iconv_knows_the_name_that_it_is_told(encoding):
    text = {"koi8-r": RUSSIAN, "euc-jp": JAPANESE, "iso-8859-2": POLISH}.get(encoding, GERMAN)
    found = encoding_of(text.encode(encoding))
    assert found is not None
    command = ["iconv", "-f", found.encoding.upper(), "-t", "UTF-8"]
    if shutil.which("iconv") is None:
        pytest.skip("needs iconv")
    done = subprocess.run(command, input=text.encode(encoding), capture_output=True, check=True)
    assert done.stdout.decode() == text


def test_utf_16_that_is_valid_utf_8_is_refused_with_its_name(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("A small dog.\n".encode("utf-16le"))
    with pytest.raises(DataError, match="text:1: not UTF-8") as caught:
        list(read_lines(path))
    assert "it is UTF-16LE" in caught.value.hint


def test_a_packed_file_is_unpacked_before_it_is_converted(tmp_path):
    path = tmp_path / "text.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(KOREAN.encode("cp949"))
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    assert f"zcat {path} | iconv -f CP949 -t UTF-8 > NEW" in caught.value.hint


def test_auto_looks_at_the_beginning_of_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(KOREAN.encode("cp949"),))
    writer.start()
    assert list(read_lines(pipe, encoding="auto")) == KOREAN.splitlines()
    writer.join()
