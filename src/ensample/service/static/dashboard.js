// Draws the charts of a page with uPlot and fetches the page again now and then. Without this script
// the page has the same numbers as tables.
"use strict";

const drawn = new Map();  // the chart of each element

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Values as they are drawn: of stacked bars each is the sum of those below it.
function heights(spec) {
  if (!spec.stacked) return spec.series.map((series) => series.values);
  let below = spec.x.map(() => 0);
  return spec.series.map(
    (series) => (below = below.map((sum, i) => (series.values[i] === null ? null : sum + series.values[i]))));
}

// A time below an axis whose marks are `step` seconds apart.
function when(seconds, step) {
  const [day, time] = new Date(1e3 * seconds).toISOString().split("T");
  if (step >= 86400) return new Date(day).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
  return time.slice(0, step >= 60 ? 5 : 8);
}

function seriesOptions(series, spec, text) {
  const stroke = colour(series.colour);
  const value = (_, __, ___, i) => (i === null || series.values[i] === null ? "–" : text(series.values[i]));
  const options = { label: series.label, stroke, value, width: 1.8, points: { show: false } };
  if (series.draw === "bars") {
    Object.assign(options, { fill: stroke, width: 0, paths: uPlot.paths.bars({ size: [spec.stacked ? 1 : 0.9], gap: 1 }) });
  } else if (series.draw === "dots") {
    Object.assign(options, { width: 0, paths: () => null, points: { show: true, size: 5, fill: stroke } });
  } else if (series.draw === "low" || series.draw === "high") {
    options.width = 0;
  } else {
    options.points = { show: spec.x.length <= 40, size: 5, fill: stroke };
    if (series.draw === "dashed") options.dash = [5, 4];
  }
  return options;
}

function chartOptions(element, spec) {
  const text = (y) => (spec.percent ? `${+(100 * y).toFixed(1)}%` : `${+y.toPrecision(4)}`.replace("-", "−"));
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { show: false } };
  const places = spec.series.map((series, i) => ({ series, i: i + 1 }));
  const low = places.find(({ series }) => series.draw === "low");
  const high = places.find(({ series }) => series.draw === "high");
  const fill = colour("--s0") + "28";
  const [first, last] = [spec.x[0], spec.x[spec.x.length - 1]];
  const half = spec.x.length > 1 ? (last - first) / (spec.x.length - 1) / 2 : 0.5;
  const bars = spec.series[0].draw === "bars";
  const word = (i) => spec.said[i];
  const words = (_, splits, __, ___, step) => splits.map((x) => {
    if (spec.time) return when(x, step);
    return bars ? (word(spec.x.indexOf(x)) ?? "").replace("up to", "≤") : x.toLocaleString("en");
  });
  return {
    width: element.clientWidth,
    height: Number(element.dataset.height),
    tzDate: (seconds) => uPlot.tzDate(new Date(1e3 * seconds), "Etc/UTC"),
    scales: {
      x: { time: spec.time, range: bars ? [first - half, last + half] : [first, last > first ? last : first + 1] },
      y: { range: spec.limits ?? ((_, least, most) => [Math.min(0, least), Math.max(0, most) + 0.06 * ((most - Math.min(0, least)) || 1)]) },
    },
    axes: [
      { ...axis, grid: { show: false }, values: words, space: spec.time ? 50 : 70 },
      { ...axis, size: 56, values: (_, splits) => splits.map(text) },
    ],
    series: [
      { label: "", value: (_, __, ___, i) => (i === null ? "" : word(i)) },
      ...spec.series.map((series) => seriesOptions(series, spec, text)),
    ],
    bands: low && high ? [{ series: [high.i, low.i], fill }] : [],
    cursor: { drag: { x: false, y: false }, points: { show: !bars } },
    legend: { markers: { width: 0, fill: (_, i) => colour(spec.series[i - 1].colour) } },
  };
}

// Stacked bars are drawn from the highest to the lowest, so that each covers the foot of the one before.
function draw(element) {
  const spec = JSON.parse(element.dataset.chart);
  const data = heights(spec);
  if (spec.stacked) {
    spec.series.reverse();
    data.reverse();
  }
  drawn.get(element)?.destroy();
  drawn.set(element, new uPlot(chartOptions(element, spec), [spec.x, ...data], element));
}

function drawAll() {
  for (const [element, chart] of drawn) {
    if (!element.isConnected) {
      chart.destroy();
      drawn.delete(element);
    }
  }
  document.querySelectorAll("[data-chart]").forEach(draw);
}

// The arrow keys move from value to value.
document.addEventListener("keydown", (event) => {
  const chart = drawn.get(event.target);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!chart || !step) return;
  event.preventDefault();
  const last = chart.data[0].length - 1;
  const i = Math.min(Math.max((chart.cursor.idx ?? (step > 0 ? -1 : last + 1)) + step, 0), last);
  chart.setCursor({ left: chart.valToPos(chart.data[0][i], "x"), top: 10 });
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
        drawAll();
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

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => {
  for (const [element, chart] of drawn) chart.setSize({ width: element.clientWidth, height: chart.height });
});
plan();
