"""Tests of nmt_cli/resources.py."""

from pathlib import Path

import pytest

from nmt_cli import resources
from nmt_cli.resources import bundled_configs, bundled_root


def test_the_bundled_configurations_are_found_by_name():
    configs = bundled_configs()
    assert {"quickstart", "multi30k-en-de"} <= configs.keys()
    assert all(path.is_file() and path.name == f"{name}.yaml" for name, path in configs.items())


def test_the_sample_data_lie_beside_the_configurations():
    assert (bundled_root() / "data" / "en-de").is_dir()
    assert (bundled_root() / "data" / "small-talk-en").is_dir()
    assert (bundled_root() / "data" / "small-talk-ko").is_dir()


def test_an_installed_wheel_has_them_inside_the_package(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "nmt_cli"
    (package / "bundled" / "configs").mkdir(parents=True)
    (package / "bundled" / "configs" / "mine.yaml").touch()
    monkeypatch.setattr(resources, "__file__", str(package / "resources.py"))
    assert bundled_root() == package / "bundled"
    assert bundled_configs() == {"mine": package / "bundled" / "configs" / "mine.yaml"}


def test_a_checkout_has_them_beside_the_package(tmp_path, monkeypatch):
    (tmp_path / "nmt_cli").mkdir()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "b.yaml").touch()
    (tmp_path / "configs" / "a.yaml").touch()
    (tmp_path / "configs" / "notes.txt").touch()
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "nmt_cli" / "resources.py"))
    assert bundled_root() == tmp_path
    assert list(bundled_configs()) == ["a", "b"]


@pytest.mark.parametrize(
    ("platform", "home", "expected"),
    [
        ("linux", None, "/me/.local/share/nmt"),
        ("darwin", None, "/me/Library/Application Support/nmt"),
        ("darwin", "/elsewhere", "/elsewhere/nmt"),
        ("linux", "/elsewhere", "/elsewhere/nmt"),
        ("linux", "", "/me/.local/share/nmt"),
    ],
)
def test_what_a_person_keeps_lies_where_the_system_wants_it(monkeypatch, platform, home, expected):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("HOME", "/me")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("XDG_DATA_HOME", home)
    assert resources.user_data_dir() == Path(expected)


@pytest.mark.parametrize("name", ["flags\t\t", "Features\t"])
def test_flags_are_read_from_cpuinfo(tmp_path, monkeypatch, name):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvendor_id\t: x\n{name}: fpu avx512_bf16\nflags : other\n")
    monkeypatch.setattr(resources, "_CPUINFO", cpuinfo)
    assert resources.processor_flags() == {"fpu", "avx512_bf16"}


def test_other_systems_have_no_cpuinfo(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_CPUINFO", tmp_path / "cpuinfo")
    assert resources.processor_flags() == set()
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    assert resources.processor_flags() == set()
