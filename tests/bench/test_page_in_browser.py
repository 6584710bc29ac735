"""The reports in a real browser: they draw, fit, speak and obey; skipped where there is none."""

import shutil
from pathlib import Path

import pytest

from axiomjit.bench.report.page import page as report
from axiomjit.bench.report.publish import group_chart
from axiomjit.bench.suite.peers import PEERS
from axiomjit.bench.suite.records import OK, write_text
from tests.bench.samples import newest, result
from tests.bench.test_page import ODD

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
CHART_FAULTS = """() => {
  const box = document.documentElement.getBoundingClientRect();
  const words = [...document.querySelectorAll("text")];
  const faults = words.filter((word) => {
    const own = word.getBoundingClientRect();
    return own.left < box.left || own.right > box.right || own.bottom > box.bottom;
  }).map((word) => `${word.textContent} is outside`);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const parts = [...words, ...document.querySelectorAll(".mark")];
  parts.forEach((one, k) => words.forEach((two, j) => {
    if (k > j && meet(one.getBoundingClientRect(), two.getBoundingClientRect())) {
      faults.push(`${one.textContent} meets ${two.textContent}`);
    }
  }));
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return 0.3 * r + 0.59 * g + 0.11 * b;
  };
  const ground = light(getComputedStyle(document.querySelector(".ground")).fill);
  for (const part of parts) {
    const off = Math.abs(light(getComputedStyle(part).fill) - ground);
    if (off < 80) faults.push(`${part.textContent} does not stand out: ${off}`);
  }
  return faults;
}"""
FAULTS = Path(__file__).with_name("faults.js").read_text(encoding="utf-8")
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Waits for a frame: pages learn their new size before one is drawn."""
PAGES = {
    "usual": lambda path: write_text(report(result()), path),
    "newest": lambda path: write_text(report(newest()), path),
} | {
    name: lambda path, name=name: write_text(report(ODD[name]()), path)
    for name in ("one case", "long names", "nothing runs", "one thread", "far ratios", "far faster")
}


LABEL_A_MARK = """
const plot = document.querySelector("svg.plot[aria-label=Roofline]");
const mark = plot.querySelector("circle.mark"), label = plot.querySelector("text");
label.setAttribute("x", mark.getAttribute("cx"));
label.setAttribute("y", mark.getAttribute("cy"));
label.setAttribute("dy", "4");
"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the Python package playwright is not installed"
    )
    found = [path for name in PROGRAMS if (path := shutil.which(name))]
    if not found:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is on PATH")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found[0], args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a page by name; complaints of the browser and requests fail the test at its end."""
    complaints, contexts = [], []

    def visit(name, width=1200, scheme="light"):
        path = tmp_path / "page.html"
        PAGES[name](path)
        size = {"width": width, "height": 800}
        context = browser.new_context(viewport=size, color_scheme=scheme, has_touch=width < 600)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto(path.as_uri())
        complaints.remove(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_empty_or_outside_its_box(visit, name):
    page = visit(name)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    for width in (360, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate(DRAWN)
            assert (width, scheme, page.evaluate(FAULTS)) == (width, scheme, [])


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        ("p.style.whiteSpace = 'nowrap'; p.textContent = 'far '.repeat(200)", "the page is"),
        ("t.setAttribute('dx', '2000')", "outside its plot"),
        ("t.nextSibling.setAttribute('x', t.getAttribute('x'))", "on top of"),
        ("for (const m of document.querySelectorAll('.mark')) m.remove()", "has no marks"),
        (LABEL_A_MARK, "a mark is on top of"),
        ("for (const p of document.querySelectorAll('.more')) p.remove()", "without a sign"),
        ("p.style.color = 'var(--surface)'", "contrast"),
    ],
)
def test_planted_faults_are_found(visit, edit, fault):
    page = visit("usual", 360)
    names = "const p = document.querySelector('section p'), t = document.querySelector('text');"
    page.evaluate(f"() => {{ {names} {edit} }}")
    assert any(fault in line for line in page.evaluate(FAULTS))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [result, newest, *map(ODD.get, ("long names", "far ratios"))])
def test_words_of_the_chart_are_apart_and_stand_out(browser, tmp_path, make, scheme):
    path = tmp_path / "chart.svg"
    path.write_text(group_chart(with_every_peer(make())), encoding="utf-8")
    context = browser.new_context(viewport={"width": 900, "height": 600}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    faults = page.evaluate(CHART_FAULTS)
    context.close()
    assert faults == []


def with_every_peer(made):
    """The result with further libraries, as many as there can be, that are as fast as jax."""
    known = [peer.name for peer in made.peers]
    jax = next(peer for peer in made.peers if peer.name == "jax")
    peers = [peer for peer in made.peers if peer.name in PEERS and peer.status == OK]
    more = [name for name in PEERS if name not in {peer.name for peer in peers}]
    cases = []
    for case in made.cases:
        own = [run for run in case.runs if run.peer in known and run.peer not in more]
        copied = case.run("jax")
        copies = [copied.replace(peer=name) for name in more] if copied else []
        cases.append(case.replace(runs=(*own, *copies)))
    peers += [jax.replace(name=name) for name in more]
    return made.replace(peers=tuple(peers), cases=tuple(cases))


def test_pointing_and_keys_say_what_a_mark_is(visit):
    page = visit("usual", 360)
    tip = page.locator("#tip")
    assert tip.is_hidden()
    marks = page.locator("svg.plot[aria-label=Roofline]").first.locator(".mark")
    marks.first.focus()
    assert tip.inner_text() == marks.nth(0).get_attribute("aria-label")
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() == marks.nth(1).get_attribute("aria-label")
    page.keyboard.press("End")
    assert tip.inner_text() == marks.last.get_attribute("aria-label")
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    place = marks.nth(2).bounding_box()
    page.touchscreen.tap(place["x"] + place["width"] / 2, place["y"] + place["height"] + 2)
    assert tip.inner_text() == marks.nth(2).get_attribute("aria-label")


def test_choices_hide_what_is_not_chosen(visit):
    page = visit("usual")
    rows = page.locator("#cases ~ div:visible tbody tr:visible")
    everything = rows.count()
    assert everything == len(result().cases)
    page.select_option("[data-choose=group]", "reductions")
    assert rows.evaluate_all("rows => rows.map(row => row.dataset.case).sort()") == ["max", "sum"]
    page.select_option("[data-choose=group]", "")
    page.fill("[data-choose=case]", "AFFINE_1")
    assert rows.count() == 4
    page.fill("[data-choose=case]", "")
    page.uncheck("[data-choose=peer][value=jax]")
    assert page.locator("[data-peer=jax]:visible").count() == 0
    page.select_option("[data-choose=threads]", "2")
    assert page.locator("[data-threads='1']:visible").count() == 0
    assert rows.count() == everything


def test_headings_sort(visit):
    page = visit("usual")
    table = page.locator("table.sortable:visible").first
    values = "table => [...table.tBodies[0].rows].map(row => row.cells[2].dataset.value ?? null)"
    table.locator("th button").nth(2).click()
    down = table.evaluate(values)
    table.locator("th button").nth(2).click()
    up = table.evaluate(values)
    numbers = sorted((float(v) for v in down if v is not None), reverse=True)
    absent = [None] * (len(down) - len(numbers))
    assert [v and float(v) for v in down] == [*numbers, *absent]
    assert [v and float(v) for v in up] == [*numbers[::-1], *absent]
    assert table.locator("th").nth(2).get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_button_turns_light_and_dark(visit, scheme):
    page = visit("usual", scheme=scheme)
    ground = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) != before
    page.click("#theme")
    assert page.evaluate(ground) == before


def test_print_is_light_and_shows_whole_tables(visit):
    page = visit("usual", scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("form.controls").is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
