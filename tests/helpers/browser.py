"""Chromium without a window, and its reports about a page."""

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# the least contrast of a text with what is behind it, and that text
CONTRAST = """
const parts = c => (c.match(/[\\d.]+/g) || []).map(Number);
const linear = x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => [r, g, b].map(x => linear(x / 255))
  .reduce((sum, x, k) => sum + x * [0.2126, 0.7152, 0.0722][k], 0);
const behind = e => {
  for (; e; e = e.parentElement) {
    const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
let worst = [99, ""];
for (const e of document.querySelectorAll("body *")) {
  const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join("");
  const hidden = !e.getClientRects().length || ["SCRIPT", "STYLE", "OPTION"].includes(e.tagName);
  if (!text || hidden) continue;
  const style = getComputedStyle(e), color = parts(e.closest("svg") ? style.fill : style.color);
  const [a, b] = [light(color), light(behind(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < worst[0]) worst = [(a + 0.05) / (b + 0.05), text];
}
return worst;
"""


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Open Chromium with its logs on; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("no chromium and chromedriver here (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def errors(browser: Any) -> list[str]:
    """The errors in the console since the last call."""
    return [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"]


def schemes(browser: Any) -> set[str]:
    """The schemes of all addresses that were asked for since the last call."""
    events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    return {
        event["params"]["request"]["url"].partition(":")[0]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }


def emulate(browser: Any, width: int = 1280, dark: bool = False) -> None:
    """Set the width of the window and the color scheme of the system."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def until(condition: Any, seconds: float = 60) -> Any:
    """Wait until a condition is true, and return its value; it must become so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")
