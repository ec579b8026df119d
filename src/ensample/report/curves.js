"use strict";
// Values of a curve where the pointer is, and curves that hide when their name is pressed. The page is whole without it.
(() => {
  const shown = (x) => {
    const digits = Math.abs(x) >= 1000 ? 0 : 3;
    return digits ? String(Number(x.toPrecision(digits))) : Math.round(x).toLocaleString("en-US");
  };
  const back = (at, [from, to], [low, high, log]) => {
    const share = (at - from) / (to - from);
    return log ? low * (high / low) ** share : low + share * (high - low);
  };
  const vertices = (path) => {
    const numbers = (path.getAttribute("d").match(/-?\d+(\.\d+)?(e-?\d+)?/g) || []).map(Number);
    return numbers.flatMap((x, place) => (place % 2 ? [] : [[x, numbers[place + 1]]]));
  };
  const heightAt = (points, x) => {
    for (let place = 1; place < points.length; place += 1) {
      const [[a, p], [b, q]] = [points[place - 1], points[place]];
      if (a <= x && x <= b) return b > a ? p + ((q - p) * (x - a)) / (b - a) : q;
    }
    return null;
  };

  const watch = (svg) => {
    const plot = JSON.parse(svg.dataset.plot);
    const names = new Map([...svg.closest(".plate").querySelectorAll("li[data-line]")].map((li) => [li.dataset.line, li.textContent]));
    const lines = [...svg.querySelectorAll("g[data-line]")].filter((g) => g.dataset.kind === "line");
    const curves = lines.map((g) => ({ g, name: (names.get(g.dataset.line) || "").trim(), points: vertices(g.querySelector("path")) }));
    const dot = document.createElementNS(svg.namespaceURI, "circle");
    dot.setAttribute("r", "3");
    dot.setAttribute("class", "hover");
    const words = document.createElement("div");
    words.className = "hover";
    words.hidden = true;
    svg.append(dot);
    svg.parentElement.append(words);
    const hide = () => {
      words.hidden = true;
      dot.style.visibility = "hidden";
    };
    hide();
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const near = curves
        .filter(({ g }) => !g.classList.contains("off"))
        .map((curve) => ({ ...curve, y: heightAt(curve.points, at.x) }))
        .filter(({ y }) => y !== null && y <= plot.bottom + 1)
        .sort((one, other) => Math.abs(one.y - at.y) - Math.abs(other.y - at.y))[0];
      if (!near || at.y > plot.bottom) return hide();
      dot.setAttribute("cx", at.x);
      dot.setAttribute("cy", near.y);
      dot.style.visibility = "visible";
      const x = back(at.x, [plot.left, plot.right], plot.x);
      const y = back(near.y, [plot.bottom, plot.top], plot.y);
      words.textContent = `${near.name}: ${shown(y)} at ${plot.across} ${shown(x)}`;
      words.hidden = false;
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const left = svg.offsetLeft === undefined ? 0 : svg.offsetLeft;
      words.style.left = `${Math.max(0, Math.min(left + at.x * scale - words.offsetWidth / 2, box.width - words.offsetWidth))}px`;
      words.style.top = `${box.top - svg.parentElement.getBoundingClientRect().top + near.y * scale - words.offsetHeight - 8}px`;
    });
  };

  const toggle = (li) => {
    const off = li.getAttribute("aria-pressed") === "true";
    li.setAttribute("aria-pressed", String(!off));
    const area = li.closest(".keys.small") ? li.closest("figure") : li.closest(".plate");
    for (const g of area.querySelectorAll(`g[data-line="${li.dataset.line}"]`)) g.classList.toggle("off", off);
  };
  const press = (li) => {
    li.setAttribute("role", "button");
    li.setAttribute("tabindex", "0");
    li.setAttribute("aria-pressed", "true");
    li.title = "hide or show";
    li.addEventListener("click", () => toggle(li));
    li.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle(li);
    });
  };

  for (const svg of document.querySelectorAll("svg[data-plot]")) watch(svg);
  for (const li of document.querySelectorAll("li[data-line]")) {
    const area = li.closest(".plate");
    if (area.querySelector(`g[data-line="${li.dataset.line}"]`)) press(li);
  }
})();
