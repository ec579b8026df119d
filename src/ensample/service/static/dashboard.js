// Figures say what the pointer is on, and the page is fetched again now and then. Without this script nothing is missing: titles
// say the same, and reloading does the rest.
"use strict";

const captions = new WeakMap();

document.addEventListener("pointerover", (event) => {
  const figure = event.target.closest && event.target.closest("figure");
  if (!figure) return;
  const caption = figure.querySelector("figcaption");
  const title = event.target.classList.contains("spot") && event.target.querySelector("title");
  if (!captions.has(caption)) captions.set(caption, [...caption.childNodes]);
  if (title) caption.replaceChildren(title.textContent);
  else caption.replaceChildren(...captions.get(caption));
});

document.addEventListener("pointerout", (event) => {
  const figure = event.target.closest && event.target.closest("figure");
  const caption = figure && figure.querySelector("figcaption");
  if (caption && captions.has(caption) && !figure.contains(event.relatedTarget)) caption.replaceChildren(...captions.get(caption));
});

async function refresh() {
  const main = document.querySelector("main");
  const busy = main.querySelector("figure:hover") || main.contains(document.activeElement) || String(getSelection());
  if (document.visibilityState === "visible" && !busy) {
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
        if (fresh) main.replaceWith(document.adoptNode(fresh));
      }
    } catch {
      // the service is away for a moment: what is shown stays
    }
  }
  plan();
}

function plan() {
  setTimeout(refresh, 1000 * (Number(document.querySelector("main").dataset.every) || 5));
}

plan();
