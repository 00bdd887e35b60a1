// SPDX-License-Identifier: Apache-2.0
// Parts of all pages: elements, charts that follow the theme, toggles, tables, CSV.

const charts = []; // {chart, options}: `options` returns the chart's options in the colours of the present theme

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Curves differ by mark and dash as well as by colour, for readers who cannot distinguish the colours.
const MARKS = [["circle", "●"], ["rect", "■"], ["triangle", "▲"], ["diamond", "◆"]];
const DASHES = [["solid", "—"], ["dashed", "╌"], ["dotted", "┈"]];
const curveStyle = (i) => ({ symbol: MARKS[i % MARKS.length][0], dash: DASHES[Math.floor(i / MARKS.length) % DASHES.length][0] });
const curveGlyph = (i) => MARKS[i % MARKS.length][1] + DASHES[Math.floor(i / MARKS.length) % DASHES.length][1];

// A colour for each curve: even steps on the colour wheel, of equal strength.
const tintOf = (i, count) => `hsl(${Math.round((360 * i) / Math.max(count, 1) + 210) % 360} 62% ${document.documentElement.dataset.theme === "dark" ? 66 : 42}%)`;

const ramp = (name) => [0, 1, 2, 3].map((i) => colour(`${name}-${i}`));

// A section with its title and a sentence on how to read it. Both also label its pictures for screen readers.
function section(title, say, ...children) {
  children.filter((child) => child?.classList?.contains("chart")).forEach((place) => place.setAttribute("aria-label", say ? `${title}. ${say}` : title));
  return element("section", {}, element("h2", {}, title), say ? element("p", { class: "say" }, say) : null, ...children);
}

// A chart's place; drawn by draw() once it is on the page. `height` in pixels, or a function of the place's width.
function chartIn(height, options, setUp) {
  const place = element("div", { class: "chart", style: typeof height === "number" ? `height:${height}px` : "", role: "img" });
  charts.push({ place, height, options, setUp, chart: null });
  return place;
}

function draw(place) {
  for (const entry of charts) {
    if (place && entry.place !== place) continue;
    if (typeof entry.height === "function" && entry.place.style.height !== `${entry.height(entry.place.clientWidth)}px`) {
      entry.place.style.height = `${entry.height(entry.place.clientWidth)}px`;
      entry.chart?.resize();
    }
    if (!entry.chart) {
      entry.chart = echarts.init(entry.place);
      entry.setUp?.(entry.chart);
    }
    entry.chart.setOption({ ...baseOptions(), ...entry.options(entry.place) }, { notMerge: true });
  }
}

function baseOptions() {
  return { animation: false, backgroundColor: "transparent", textStyle: { fontFamily: "system-ui, sans-serif", color: colour("text") } };
}

// Shows only as many labels of `count` categories as there is space for.
const sparse = (count, most = 32) => ({ interval: Math.ceil(count / most) - 1 });

function axis(options) {
  const line = { lineStyle: { color: colour("line") } };
  return {
    nameLocation: "middle", nameTextStyle: { color: colour("soft") }, axisLabel: { color: colour("soft"), hideOverlap: true },
    axisLine: { show: true, ...line }, axisTick: line, splitLine: { show: false, ...line }, ...options,
  };
}

// A logarithmic axis that ends at round values about `values`, with a label at each of them; `place` says them, too,
// for who sees no picture.
function logAxis(place, values, options) {
  const known = values.filter((value) => value > 0);
  const steps = known.length ? logSteps(Math.min(...known), Math.max(...known)) : [1, 10];
  place.setAttribute("aria-description", `${options.name}, logarithmic: ${steps.join(", ")}`);
  return axis({
    type: "log", min: steps[0], max: steps[steps.length - 1], axisTick: { customValues: steps, lineStyle: { color: colour("line") } },
    axisLabel: { customValues: steps, formatter: String, color: colour("soft"), hideOverlap: true }, ...options,
  });
}

// A hover box; text goes in as text, never as markup.
function tip(title, rows) {
  const lines = rows.map(([what, value]) => element("div", {}, element("span", {}, what), element("span", {}, value)));
  return element("div", { class: "tip" }, element("b", {}, title), ...lines);
}

function tooltip(formatter, options) {
  const text = { color: colour("text"), fontSize: 13 };
  return { backgroundColor: colour("card"), borderColor: colour("line"), textStyle: text, confine: true, transitionDuration: 0, formatter, ...options };
}

// A colour scale with the values of its two ends.
function colourScale(name, min, max, format) {
  return {
    type: "continuous", min, max: max > min ? max : min + 1, orient: "horizontal", left: "center", top: 6, itemHeight: 180, itemWidth: 10, padding: 0,
    inRange: { color: ramp(name) }, text: [format(max), format(min)], textStyle: { color: colour("soft") }, hoverLink: false,
  };
}

// A legend. entries: [[colour name, label]]
function legend(entries) {
  return entries.map(([tint, label]) => element("span", { class: "key", style: `--tint: var(--${tint})` }, label));
}

// A group of buttons, one of which is pressed. choices: [[key, label]]; `chosen(key)` is called with the new one.
function toggle(choices, chosen) {
  const buttons = choices.map(([key, label], i) => {
    const button = element("button", { type: "button", "aria-pressed": String(i === 0) }, label);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      chosen(key);
    });
    return button;
  });
  return buttons;
}

function bar(left, right) {
  return element("div", { class: "bar" }, ...left, element("span", { class: "push" }), ...right);
}

function csvButton(name, columns, rows) {
  const quote = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  const button = element("button", { type: "button", title: "Download these values" }, `↓ ${name}.csv`);
  button.addEventListener("click", () => {
    const lines = [columns, ...(typeof rows === "function" ? rows() : rows)].map((row) => row.map(quote).join(","));
    const link = element("a", { download: `${name}.csv`, href: URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" })) });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  return button;
}

// columns: [[heading, format]]. The column that `share` names has a bar behind each value, relative to the largest.
function table(columns, rows, share) {
  const index = share === undefined ? -1 : columns.findIndex(([heading]) => heading === share);
  const most = Math.max(...rows.map((row) => row[index] || 0), 1e-300);
  const cell = (value, i) => {
    const made = element("td", {}, columns[i][1] ? columns[i][1](value) : String(value));
    if (i === index) {
      made.className = "share";
      made.style.setProperty("--part", `${(100 * value) / most}%`);
    }
    return made;
  };
  const head = element("tr", {}, ...columns.map(([heading]) => element("th", {}, heading)));
  const body = rows.map((row) => element("tr", {}, ...columns.map((_, i) => cell(row[i], i))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// The values of the picture above as a table, which is made when it is opened.
function asTable(columns, rows) {
  const details = element("details", {}, element("summary", {}, `Show as a table (${rows.length} rows)`));
  details.addEventListener("toggle", () => details.children.length < 2 && details.append(table(columns, rows)));
  return details;
}

// Draws all charts in the colours that the system or the button selects. Draws them again when the colours or the size
// of the window change.
function followTheme() {
  const theme = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    draw();
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => theme(system.matches));
  document.getElementById("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
  window.addEventListener("resize", () => {
    for (const { chart } of charts) chart?.resize();
    draw();
  });
  theme(location.hash ? location.hash === "#dark" : system.matches);
}
