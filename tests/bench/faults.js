/* What is wrong with a page as it stands, a line each. */
() => {
  const faults = [];
  const name = (element) => `${element.tagName} "${element.textContent.trim().slice(0, 40)}"`;
  const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const inside = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1 &&
    inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) faults.push(`the page is ${wide} wide in a window of ${innerWidth}`);

  for (const plot of document.querySelectorAll("[data-marks]")) {
    if (!seen(plot)) continue;
    const box = plot.getBoundingClientRect();
    if (box.width < 100 || box.height < 20) faults.push(`a plot is ${box.width} by ${box.height}`);
    const marks = [...plot.querySelectorAll(".mark")].filter(seen);
    if (!marks.length && !plot.querySelector(".track p")) faults.push(`${name(plot)} has no marks`);
    for (const mark of marks) {
      if (!inside(mark.getBoundingClientRect(), box)) faults.push(`a mark leaves ${name(plot)}`);
    }
  }

  const texts = [...document.querySelectorAll("svg text")].filter(seen);
  for (const text of texts) {
    const box = text.closest(".frame, .row").getBoundingClientRect();
    if (!inside(text.getBoundingClientRect(), box)) faults.push(`${name(text)} is outside its plot`);
  }
  const meet = (one, two) => {
    const a = one.getBoundingClientRect(), b = two.getBoundingClientRect();
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return across > 1 && down > 3;
  };
  const drawing = (element) => element.closest("svg.plot") ?? element.closest("svg");
  for (const plot of new Set(texts.map(drawing))) {
    const own = texts.filter((text) => drawing(text) === plot);
    own.forEach((one, k) => own.slice(k + 1).forEach((two) => {
      if (meet(one, two)) faults.push(`${name(one)} is on top of ${name(two)}`);
    }));
    for (const mark of [...plot.querySelectorAll(".mark")].filter(seen)) {
      const under = own.find((text) => meet(mark, text));
      if (under) faults.push(`a mark is on top of ${name(under)}`);
    }
  }

  for (const box of document.querySelectorAll(".scroll")) {
    const cut = seen(box) && box.scrollWidth > box.clientWidth + 1;
    if (cut && !(box.nextElementSibling && seen(box.nextElementSibling))) {
      faults.push(`${name(box)} is cut on the right without a sign`);
    }
  }

  const light = (colour) => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || !seen(element) || element.closest("script, svg, .unseen, option")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = (element.closest(".scroll td, .scroll th, .card, .row, section") ??
      document.body).getBoundingClientRect();
    for (const rect of range.getClientRects()) {
      if (!inside(rect, box)) faults.push(`${name(element)} is outside its box`);
    }
    const pair = [getComputedStyle(element).color, ground(element)].map(light).sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) faults.push(`${name(element)} has a contrast of ${contrast.toFixed(1)}`);
  }
  return [...new Set(faults)];
}
