"""A search with a glossary, by the toy model, which writes a word for each word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmt_cli
from nmt_cli.search.glossary import Glossary, TermUse

ENGINES = ("ctranslate2", "tensorflow")
WORDS = {"red": "rot", "old": "alt", "dog": "hund", "cat": "katze", "bird": "vogel", "eats": "isst"}


@pytest.fixture(scope="module", params=ENGINES)
def model(request, toy_bundle):
    with nmt_cli.load(toy_bundle, engine=request.param) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def quick(toy_bundle):
    with nmt_cli.load(toy_bundle) as loaded:
        yield loaded


def _glossary(**terms: str) -> Glossary:
    return Glossary(tuple(((source,), tuple(forms.split("|"))) for source, forms in terms.items()))


def test_each_source_can_have_its_own_prefix(model):
    encode = model.vocabularies.target.encode
    sources = [[*model.vocabularies.source.encode("red dog"), 2]] * 3
    prefixes = [encode("katze"), [], encode("alt vogel")]
    found = model.engine.search(sources, model.search_options(), prefixes=prefixes)
    texts = [model.vocabularies.target.decode(best[0].ids) for best in found]
    assert texts[0].startswith("katze")
    assert texts[1] == "rot hund"
    assert texts[2].startswith("alt vogel")


def test_a_term_takes_the_place_of_a_word(model):
    lines = ["red dog sees cat", "", "old bird", "dog", "  old dog and dog "]
    found = model.translate(lines, glossary=_glossary(dog="vogel"))
    assert [one.source for one in found] == lines
    assert [one.text for one in found[1:4]] == ["", "alt vogel", "vogel"]
    assert "vogel" in found[0].text.split()
    assert len(found[0].text.split()) == 4
    assert (found[4].text[:2], found[4].text[-1]) == ("  ", " ")
    assert [one.terms for one in found[:3]] == [[TermUse("dog", "vogel")], [], []]


def test_terms_in_a_line_in_capitals(model):
    (found,) = model.translate(["RED CAT SEES OLD DOG"], glossary=_glossary(dog="vogel"))
    assert found.terms == [TermUse("dog", "vogel")]
    (found,) = model.translate(["RED CAT SEES OLD DOG"], glossary=_glossary(DOG="vogel"))
    assert [use.source for use in found.terms] == ["DOG"]


def test_lines_without_a_term_are_as_without_a_glossary(model):
    lines = ["red cat", "old bird eats", "big cat"]
    found = model.translate(lines, glossary=_glossary(dog="vogel"))
    assert found == model.translate(lines)


def test_several_terms_and_one_that_is_there_already(model):
    terms = _glossary(red="alt", dog="vogel", cat="katze", eats="sieht")
    (found,) = model.translate(["red dog eats cat"], glossary=terms)
    assert set(found.text.split()) >= {"alt", "vogel", "sieht", "katze"}
    assert [use.target for use in found.terms] == ["alt", "vogel", "sieht", "katze"]


def test_the_first_translation_is_written_and_the_others_are_right(model):
    entries = ((("dog",), ("vogel",)), (("dog",), ("hund",)), (("cat",), ("vogel", "hund")))
    found = model.translate(["dog", "red cat"], glossary=Glossary(entries))
    assert found[0].text == "hund"
    assert found[1].text in ("rot vogel", "rot hund")


def test_several_outputs_all_have_the_term(model):
    (found,) = model.translate(["red dog"], glossary=_glossary(dog="vogel"), beam_size=4, n_best=3)
    assert all("vogel" in hypothesis.text.split() for hypothesis in found.hypotheses)
    assert [h.terms for h in found.hypotheses] == [[TermUse("dog", "vogel")]] * len(
        found.hypotheses
    )


def test_an_output_without_room_says_why(model):
    options = {"max_length": 3, "beam_size": 1}
    (found,) = model.translate(["red old dog"], glossary=_glossary(dog="vogelvogel"), **options)
    assert [use.target for use in found.terms] == [None]
    assert found.terms[0].why == "with it the output has over 3 tokens"


def test_a_prefix_of_the_output_stays(model):
    prefix = tuple(model.vocabularies.target.encode("hund"))
    (found,) = model.translate(["dog eats"], glossary=_glossary(dog="vogel"), prefix=prefix)
    assert found.text.startswith("hund ")
    assert "vogel" in found.text.split()


def test_samples_have_the_term_too(model):
    (found,) = model.translate(["red dog"], glossary=_glossary(dog="vogel"), sample=True, seed=1)
    assert "vogel" in found.text.split()


def test_a_glossary_can_be_a_file(model, tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tvogel\n")
    assert model.translate(["dog"], glossary=tmp_path / "terms.tsv")[0].text == "vogel"


@given(
    lines=st.lists(st.lists(st.sampled_from([*WORDS, "Dog", "x", "?"]), max_size=6), max_size=4),
    terms=st.dictionaries(
        st.sampled_from(list(WORDS)),
        st.sampled_from(["hut", "katze", "rote", "neu es"]),
        max_size=3,
    ),
    longest=st.sampled_from([3, 24]),
)
def test_a_term_is_in_the_output_or_reported(quick, lines, terms, longest):
    texts = [" ".join(line) for line in lines]
    glossary = _glossary(**terms)
    found = quick.translate(texts, split=False, glossary=glossary, max_length=longest)
    assert [one.source for one in found] == texts
    for one, text in zip(found, texts, strict=True):
        assert {use.source for use in one.terms} == {t.text for t in glossary.terms_in(text)}
        for use in one.terms:
            if use.target is None:
                assert str(use.why).endswith("tokens")
            else:
                assert use.target in one.text
        assert len(one.text.splitlines()) <= 1
