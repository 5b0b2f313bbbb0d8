"""The questions that are asked of a page in the browser, in JavaScript, and its picture."""

from __future__ import annotations

import os
from pathlib import Path

from tests.browser.chromium import Chromium

LEAST = 4.5  # the contrast that WCAG AA asks of letters of this size

# The elements that are wider than the window, outside of any that scrolls.
OVERFLOWING = """
(() => {
  const width = document.documentElement.clientWidth, found = [];
  const scrolls = (element) => {
    for (let each = element; each; each = each.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
    return false;
  };
  for (const each of document.querySelectorAll("body *")) {
    const box = each.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1) && !scrolls(each))
      found.push(each.tagName + ": " + each.textContent.slice(0, 40));
  }
  if (document.documentElement.scrollWidth > width) found.push("the page scrolls sideways");
  return found;
})()
"""
# Lines of a box that are wider than it, and words on each other.
SPILLING = """
(() => {
  const found = [];
  for (const box of document.querySelectorAll("svg g")) {
    const edge = box.querySelector(":scope > rect.box, :scope > a > rect.box");
    if (!edge || !edge.getBoundingClientRect().width) continue;
    const outer = edge.getBoundingClientRect();
    for (const text of box.querySelectorAll("text")) {
      const inner = text.getBoundingClientRect();
      if (inner.left < outer.left || inner.right > outer.right || inner.top < outer.top - 1
          || inner.bottom > outer.bottom + 1) found.push(text.textContent);
    }
  }
  for (const picture of document.querySelectorAll("svg")) {
    const texts = [...picture.querySelectorAll("text")].map((each) =>
      [each.textContent, each.getBoundingClientRect()]).filter(([, box]) => box.width);
    for (const [index, [one, a]] of texts.entries())
      for (const [other, b] of texts.slice(index + 1))
        if (a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4
            && b.top < a.bottom - 4) found.push(one + " / " + other);
  }
  return found;
})()
"""
# Letters by their contrast to what is painted behind them.
FAINT = """
((root) => {
  const parsed = (colour) => {
    const numbers = colour.match(/[\\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (colour) => {
    const [r, g, b] = colour.map((each) => each / 255)
      .map((each) => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const canvas = dark ? [18, 18, 18] : [255, 255, 255];
  const painted = (element) => {
    let layers = [];
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (each instanceof SVGElement) {
        if (each.tagName === "g") {
          const box = each.querySelector(":scope > rect.box, :scope > a > rect.box");
          if (box && getComputedStyle(box).fill !== "none")
            layers.push(parsed(getComputedStyle(box).fill));
        }
        const ground = each.tagName === "svg" && each.querySelector(":scope > rect.ground");
        if (ground) layers.push(parsed(getComputedStyle(ground).fill));
      } else layers.push(parsed(style.backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), canvas);
  };
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const box = element.getBoundingClientRect();
    const hidden = ["style", "script", "title"].includes(element.tagName.toLowerCase());
    if (!walker.currentNode.data.trim() || hidden || !box.width) continue;
    let style = getComputedStyle(element), opacity = 1;
    for (let each = element; each; each = each.parentElement)
      opacity *= Number(getComputedStyle(each).opacity);
    const letters = element instanceof SVGElement ? style.fill : style.color;
    const behind = painted(element), ink = parsed(letters);
    const [a, b] = [light(over([...ink.slice(0, 3), ink[3] * opacity], behind)), light(behind)];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    found.push([contrast, walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
})(document.documentElement)
"""


def keep(browser: Chromium, name: str) -> None:
    """Take a screenshot, in which there is something; keep it where somebody wants to look."""
    wanted = os.environ.get("TPULINT_SCREENSHOTS")
    target = Path(wanted or ".") / name
    data = browser.screenshot()
    assert len(data) > 4_000
    if wanted:
        target.write_bytes(data)
