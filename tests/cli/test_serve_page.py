"""Tests of the page of `nmt serve` in a real Chromium: typing, hearing, narrow and dark screens."""

import re

import httpx
import pytest
from browser import faults_on, needs_browser
from serving import serving

import nmt_cli

pytestmark = needs_browser
playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture(scope="module")
def server(toy_bundle, toy_chat, label_bundle, tmp_path_factory):
    models = [part for path in (toy_bundle, toy_chat, label_bundle) for part in ("-m", str(path))]
    with serving(*models, "-q", cwd=tmp_path_factory.mktemp("page")) as (_, url):
        yield url


@pytest.fixture
def page(chromium, server):
    """The page, whose errors and requests to elsewhere fail the test."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page, problems, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.asked = asked
    page.goto(server)
    # Parts are shown once they listen; before that, keys would go nowhere.
    expect(page.get_by_label("Text to translate")).to_be_visible()
    yield page
    context.close()
    assert problems == []
    assert all(url.startswith(server) for url in asked)


@pytest.fixture(scope="module")
def translated(toy_bundle):
    with nmt_cli.load(toy_bundle) as model:
        lines = ["red dog", "two cats run"]
        yield {found.source: found.text for found in model.translate(lines)}


def requests_to(page, path):
    return [url for url in page.asked if url.endswith(path)]


def test_a_translation_as_one_types(page, translated):
    page.get_by_label("Text to translate").press_sequentially("red dog", delay=30)
    expect(page.get_by_label("Translation", exact=True)).to_have_text(translated["red dog"])
    expect(page.get_by_label("Other translations").locator("div").first).to_be_visible()
    assert len(requests_to(page, "/translate")) <= 2  # not one for each letter
    page.get_by_label("Text to translate").fill("")
    expect(page.get_by_label("Translation", exact=True)).to_have_text("")


def test_a_word_tells_what_it_comes_from(page):
    page.get_by_label("Text to translate").fill("red dog")
    word = page.locator("#target .word").first
    word.hover()
    told = page.locator("#from")
    expect(told).to_have_text(re.compile(r"\d+ % sure, from “(red|dog)”"))
    page.locator("#target .word").nth(1).focus()
    expect(told).to_have_text(re.compile(re.escape(page.locator(".word").nth(1).inner_text())))


def test_no_request_while_a_character_is_composed(page):
    page.get_by_label("Text to translate").focus()
    keys = page.context.new_cdp_session(page)
    for text in ("ㅎ", "하", "한"):
        keys.send("Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1})
        page.wait_for_timeout(400)
    assert requests_to(page, "/translate") == []
    with page.expect_request("**/translate"):
        keys.send("Input.insertText", {"text": "한"})
    page.wait_for_load_state("networkidle")
    assert len(requests_to(page, "/translate")) == 1


def test_a_file_and_the_clipboard(page, translated, tmp_path):
    (tmp_path / "in.txt").write_text("red dog\ntwo cats run\n")
    page.get_by_label("File").set_input_files(tmp_path / "in.txt")
    wanted = f"{translated['red dog']}\n{translated['two cats run']}\n"
    target = page.get_by_label("Translation", exact=True)
    expect(target).to_have_text(wanted, use_inner_text=True)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == wanted


def test_text_is_never_markup(page):
    hostile = "<img src=x onerror=\"document.title='taken'\"> red"
    page.get_by_label("Text to translate").fill(hostile)
    page.wait_for_load_state("networkidle")
    assert page.title() == "nmt"
    assert page.locator("main img").count() == 0


def test_languages_have_names(page):
    assert page.locator("#source-language option").all_inner_texts() == [
        "English",
        "any language",
    ]
    assert page.locator("#target-language option:checked").inner_text() == "German"


def test_a_reply_is_heard_once_it_is_whole(page):
    """Each piece of a live region would be said alone."""
    page.get_by_role("button", name="Chat").click()
    page.evaluate(
        """() => {
          window.busy = [];
          const note = ([change]) => busy.push(change.target.ariaBusy);
          const turns = document.querySelector("#turns");
          const options = { attributeFilter: ["aria-busy"], subtree: true };
          new MutationObserver(note).observe(turns, options);
          new MutationObserver((changes) => {
            const items = changes.flatMap((change) => [...change.addedNodes]);
            busy.push(...items.map((item) => item.ariaBusy).filter(Boolean));
          }).observe(turns, { childList: true });
        }"""
    )
    page.get_by_label("Your message").fill("hello")
    page.get_by_label("Your message").press("Enter")
    expect(page.locator("#turns .bot")).to_have_attribute("aria-busy", "false")
    assert page.evaluate("busy")[0] == "true"


def test_text_from_right_to_left(page):
    page.get_by_label("Text to translate").fill("שלום עולם")
    direction = "document.querySelector('#source').matches(':dir(rtl)')"
    assert page.evaluate(direction)


def test_a_conversation_with_the_keyboard_alone(page):
    page.get_by_role("button", name="Chat").press("Enter")
    page.get_by_label("Seed").fill("3")
    page.get_by_label("Your message").press_sequentially("hello")
    page.get_by_label("Your message").press("Enter")
    turns = page.get_by_role("log").get_by_role("listitem")
    expect(turns).to_have_count(2)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    said = turns.nth(1).inner_text()
    assert said not in ("", "…")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(turns.nth(1)).to_have_text(said)  # the same seed
    page.get_by_role("button", name="Undo").click()
    expect(turns).to_have_count(0)


def test_labels_with_bars(page):
    page.get_by_role("button", name="Classify").click()
    page.get_by_label("Text to classify").fill("good")
    expect(page.locator("#labels meter").first).to_be_visible()
    shares = [float(m.get_attribute("value")) for m in page.locator("#labels meter").all()]
    assert sum(shares) == pytest.approx(1, abs=0.01)


def test_what_goes_wrong_is_told(page, server):
    page.route("**/translate", lambda route: route.abort())
    page.get_by_label("Text to translate").fill("red dog")
    expect(page.locator("#status")).to_have_text("The server cannot be reached.")
    page.unroute("**/translate")
    long = "x " * 60_000
    page.get_by_label("Text to translate").fill(long)
    expect(page.locator("#status")).to_have_text(re.compile("at most"))
    assert httpx.get(f"{server}/health").status_code == 200


def test_it_fits_and_can_be_read(screen, server):
    screen.goto(server)
    for part, field in (
        ("Translate", "Text to translate"),
        ("Chat", "Your message"),
        ("Classify", "Text to classify"),
    ):
        screen.get_by_role("button", name=part, exact=True).click()
        screen.get_by_label(field).fill("red dog")
        if part == "Chat":
            screen.get_by_label(field).press("Enter")
        screen.wait_for_load_state("networkidle")
        screen.wait_for_timeout(400)
        assert [*faults_on(screen)] == []
