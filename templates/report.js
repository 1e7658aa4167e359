// Draws the charts, builds tables and downloads from the embedded CSV, filters, sorts, copies. No network, no eval.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const parseCsv = (text) => {
    const rows = [[]];
    let value = "", quoted = false, i = 0;
    const push = () => { rows[rows.length - 1].push(value); value = ""; };
    for (; i < text.length; i++) {
      const char = text[i];
      if (quoted) {
        if (char !== '"') value += char;
        else if (text[i + 1] === '"') { value += '"'; i++; }
        else quoted = false;
      } else if (char === '"') quoted = true;
      else if (char === ",") push();
      else if (char === "\n") { push(); rows.push([]); }
      else value += char;
    }
    if (value || rows[rows.length - 1].length) push(); else rows.pop();
    return rows;
  };
  const csvOf = (name) => document.getElementById("csv-" + name).textContent;
  const numeric = /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
  const typed = (value) => (value === "" ? null : numeric.test(value) ? Number(value) : value);
  const records = (name) => {
    const [head, ...rows] = parseCsv(csvOf(name));
    return rows.map((row) => Object.fromEntries(head.map((column, i) => [column, typed(row[i])])));
  };

  const themed = (node) => {
    if (typeof node === "string") return node.replace(/^var\((--[\w-]+)\)$/, (_, name) => style(name));
    if (Array.isArray(node)) return node.map(themed);
    if (node && typeof node === "object") return Object.fromEntries(Object.entries(node).map(([k, v]) => [k, themed(v)]));
    return node;
  };
  const config = () => {
    const ink = style("--ink"), soft = style("--soft"), line = style("--line"), font = style("--font");
    return {
      background: "transparent", font, view: { stroke: null },
      axis: { labelColor: ink, titleColor: soft, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 11.5, titleFontSize: 11.5, titleFontWeight: 500, labelLimit: 200 },
      legend: { labelColor: ink, titleColor: soft, labelFontSize: 11.5 },
      text: { color: ink },
    };
  };

  let tip = null;
  const tooltip = (_handler, event, _item, value) => {
    if (tip) { tip.remove(); tip = null; }
    if (value === null || value === undefined || value === "") return;
    tip = document.createElement("div");
    tip.className = "tip";
    const entries = typeof value === "object" ? Object.entries(value) : [["", value]];
    for (const [key, text] of entries) {
      if (text === "" || text === "null" || text === null) continue;
      const row = document.createElement("div"), label = document.createElement("b"), content = document.createElement("span");
      label.textContent = key; content.textContent = text;
      row.append(label, content); tip.append(row);
    }
    document.body.append(tip);
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
  };

  const drawn = new Map();
  const draw = async (plot) => {
    const key = plot.dataset.chart, { spec, data } = specs[key];
    drawn.get(key)?.finalize();
    const datasets = Object.fromEntries(data.map((name, i) => [["rows", "marks"][i], records(name)]));
    plot.replaceChildren();
    const made = await vegaEmbed(plot, { ...themed(spec), datasets, config: config() }, {
      actions: false, ast: true, renderer: "svg", defaultStyle: false, tooltip, mode: "vega-lite",
    });
    plot.querySelector("svg").setAttribute("aria-hidden", "true"); // the place itself is the image, with its label
    plot.dataset.drawn = "yes";
    drawn.set(key, made);
  };
  const plots = () => all(".plot");
  const drawAll = async () => {
    for (const plot of plots()) {
      try { await draw(plot); } catch (error) { plot.dataset.drawn = "failed"; console.error(plot.dataset.chart, error); }
    }
    document.documentElement.dataset.charts = "drawn";
  };
  const redraw = () => { document.documentElement.dataset.charts = "drawing"; return drawAll(); };

  for (const button of all(".download")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csvOf(button.dataset.csv)], { type: "text/csv" }));
      link.download = button.dataset.csv + ".csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
  const buildTable = (details) => {
    const holder = details.querySelector(".scroll");
    if (!details.open || holder.firstChild) return;
    const [head, ...rows] = parseCsv(csvOf(details.dataset.table));
    const table = document.createElement("table"), thead = table.createTHead().insertRow(), body = table.createTBody();
    table.className = "data";
    for (const column of head) { const th = document.createElement("th"); th.scope = "col"; th.textContent = column; thead.append(th); }
    for (const row of rows) { const tr = body.insertRow(); for (const value of row) tr.insertCell().textContent = value; }
    holder.append(table);
  };
  for (const details of all("details[data-table]")) details.addEventListener("toggle", () => buildTable(details));

  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code"), said = button.firstChild.textContent;
      try { await navigator.clipboard.writeText(code.textContent); button.firstChild.textContent = "Copied"; } catch {
        getSelection().selectAllChildren(code); button.firstChild.textContent = "Press Ctrl+C";
      }
      setTimeout(() => { button.firstChild.textContent = said; }, 1500);
    });
  }

  for (const box of all("[data-filter-box]")) {
    const input = box.querySelector(".filter"), out = box.querySelector(".matches");
    const rows = all("tbody tr", box).map((row) => [row, row.textContent.toLowerCase()]);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const [row, text] of rows) { row.hidden = !text.includes(wanted); shown += !row.hidden; }
      if (wanted) for (const fold of all("details.fold", box)) fold.open = all("tbody tr", fold).some((row) => !row.hidden);
      out.textContent = wanted ? `${shown} of ${rows.length} shown` : "";
    });
  }

  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button"; button.className = "sort"; button.append(...th.childNodes); th.append(button);
      button.addEventListener("click", () => {
        const down = th.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column]?.dataset.sort ?? row.cells[column]?.textContent.trim() ?? "";
        const number = (text) => Number.parseFloat(text.replace("−", "-").replace(/[,+~\s]/g, ""));
        const order = (a, b) => {
          const x = key(a), y = key(b), m = number(x), n = number(y);
          return Number.isNaN(m) || Number.isNaN(n) ? Number.isNaN(n) - Number.isNaN(m) || x.localeCompare(y) : m - n;
        };
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
      });
    });
  }

  // A link into a closed fold opens it.
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1)), target = id && document.getElementById(id);
    if (!target) return;
    let opened = false;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS" && !node.open) { node.open = true; opened = true; }
    if (opened) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  const theme = document.getElementById("theme"), order = ["system", "light", "dark"];
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "system", next = order[(order.indexOf(now) + 1) % 3];
    if (next === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = next;
    theme.textContent = "Theme: " + next;
    redraw();
  });
  if (plots().length) {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    drawAll();
  } else document.documentElement.dataset.charts = "drawn";
  addEventListener("beforeprint", () => { for (const fold of all("details.fold")) fold.open = true; });
})();
