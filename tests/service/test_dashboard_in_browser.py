"""The pages in a real browser, from a service that listens on this machine."""

import io
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn

import ensample as es
from browsing import as_rgb, browser, visit
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.palette import variables
from ensample.service.app import application
from ensample.service.auth import new_key
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings
from service.conftest import until

__all__ = ["browser"]
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "long" * 60,
    "W" * 90,
    "{{ 7 * 7 }}",
    "video",
]


class Site(NamedTuple):
    address: str  # with the key as its password
    open_address: str


def filled(
    folder: Path,
    name: str,
    actions: list[str],
    decisions: int,
    start: float = 1_700_000_000.0,
    step: float = 3_000.0,
) -> None:
    """Weeks of traffic at once: a file that the service opens."""
    rng, now = random.Random(3), [start]
    storage = SQLiteStorage(folder / f"{name}.db", synchronous="OFF")
    given = {
        "actions": actions,
        "recipe": es.EnsembleSampling(size=10),
        "baseline": (actions[0], 0.1),
    }
    experiment = experiment_in(
        storage,
        {"name": name},
        given | {"reward": es.Reward(wait="4 h", default=0)},
        lambda: now[0],
    )

    def traffic() -> None:
        for number in range(decisions):
            now[0] += step
            experiment.decide(id=f"q{number}")
            if number > 2 and rng.random() < 0.6:
                experiment.reward(f"q{number - 2}", float(rng.random() < 0.4))

    experiment.together([traffic])
    experiment.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("data")
    (data / "experiments").mkdir()
    filled(data / "experiments", "shop", HOSTILE, 500)
    filled(data / "experiments", "open", HOSTILE, 100, time.time() - 300, 3.0)
    filled(data / "experiments", "fresh", ["a", "b"], 0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        service = Service(ServiceSettings(data=data, port=port), Journal("error", io.StringIO()))
        text, key = new_key("read")
        service.store.add(key)
        server = uvicorn.Server(uvicorn.Config(application(service), log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield Site(f"http://anybody:{text}@127.0.0.1:{port}", f"http://127.0.0.1:{port}")
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize(
    "path", ["/", "/experiments/shop", "/experiments/open", "/experiments/fresh", "/docs"]
)
def test_nothing_is_complained_of_and_nothing_sticks_out(
    path: str, width: int, scheme: str, browser: Any, site: Site
) -> None:
    visit(browser, site.address + path, width, scheme)
    assert browser.get_log("browser") == []
    across, inner = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    assert across <= inner
    seen = browser.execute_script(
        "const style = (q, p) => getComputedStyle(document.querySelector(q))[p];"
        "return [style('html', 'backgroundColor'), style('h1', 'color')]"
    )
    assert seen == [as_rgb(getattr(variables()[name], scheme)) for name in ("--paper", "--ink")]


def sizes(browser: Any) -> Any:
    """Return width, height, left, right and name of each canvas, and whether it is drawn on."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.chart canvas')].map(canvas => {"
        "const b = canvas.getBoundingClientRect();"
        "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "const label = canvas.closest('.chart').ariaLabel;"
        "return [b.width, b.height, b.left, b.right, label, data.some(x => x)]})"
    )


@pytest.mark.parametrize("width", [400, 1400])
def test_charts_are_drawn_within_the_page_and_have_names(
    width: int, browser: Any, site: Site
) -> None:
    visit(browser, f"{site.address}/experiments/shop", width)
    found = sizes(browser)
    assert len(found) == 5
    for wide, high, left, right, name, drawn in found:
        assert wide > 250 and high > 90 and 0 <= left < right <= width and name and drawn
    legend = browser.find_element("css selector", "#shares ~ figure .u-legend").text
    assert all((name if len(name) <= 60 else name[:59] + "…") in legend for name in HOSTILE)
    loaded = "return document.querySelectorAll('main script, main img').length"
    assert browser.execute_script(loaded) == 0


def test_charts_follow_the_colours_of_the_reader(browser: Any, site: Site) -> None:
    visit(browser, f"{site.address}/experiments/open")
    stroke = "return drawn.values().next().value.series[1].stroke()"
    assert browser.execute_script(stroke) == variables()["--s0"].light
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    assert until(lambda: browser.execute_script(stroke) == variables()["--s0"].dark)
    dashes = "return [...drawn.values()].flatMap(c => c.series).filter(s => s.dash).length"
    assert browser.execute_script(dashes) == 2, "the provisional lines"
    notice = browser.find_element("css selector", ".notice").text
    assert "100 decisions may still get a reward (wait: 4 h)" in notice


def test_arrow_keys_move_from_value_to_value(browser: Any, site: Site) -> None:
    visit(browser, f"{site.address}/experiments/shop")
    said = browser.execute_async_script(
        "const done = arguments[0], element = document.querySelector('.chart'); element.focus();"
        "const press = key => element.dispatchEvent("
        "new KeyboardEvent('keydown', {key, bubbles: true}));"
        "press('ArrowLeft'); requestAnimationFrame(() => setTimeout(() =>"
        "done([element.querySelector('.u-legend').textContent,"
        "drawn.get(element).cursor.idx]), 100))"
    )
    assert "after 500 decisions" in said[0] and said[1] > 3


def test_the_page_has_its_charts_as_tables_too(browser: Any, site: Site) -> None:
    """For those who cannot see them, or have no scripts."""
    visit(browser, f"{site.address}/experiments/shop")
    browser.find_element("css selector", "#lift ~ figure summary").click()
    rows = browser.find_element("css selector", "#lift ~ figure details table").text.splitlines()
    assert rows[0] == "low high lift" and rows[-1].startswith("after 500 decisions")


def test_the_script_fetches_the_page_again(browser: Any, site: Site) -> None:
    visit(browser, f"{site.address}/experiments/shop")
    browser.execute_script("document.querySelector('main').dataset.old = 'yes'")
    fresh = browser.execute_async_script(
        "const done = arguments[0]; refresh().then(() => done("
        "document.querySelector('main').dataset.old === undefined))"
    )
    assert fresh is True and len(sizes(browser)) == 5 and browser.get_log("browser") == []


def test_without_a_key_there_is_no_page(browser: Any, site: Site) -> None:
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    visit(
        browser, site.open_address.replace("127.0.0.1", "localhost")
    )  # of which no password is known
    assert "shop" not in browser.page_source
    assert any("401" in each["message"] for each in browser.get_log("browser"))


def test_everything_has_a_name_to_be_read_aloud(browser: Any, site: Site) -> None:
    visit(browser, f"{site.address}/experiments/shop")
    unnamed = browser.execute_script(
        "const named = 'section, meter, [role=img], [role=region], nav';"
        "return [...document.querySelectorAll(named)].filter(e =>"
        "!e.getAttribute('aria-label') &&"
        "!document.getElementById(e.getAttribute('aria-labelledby'))).length"
    )
    assert (
        unnamed == 0
        and browser.execute_script("return document.querySelectorAll('h1').length") == 1
    )
