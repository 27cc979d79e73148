(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const list = document.querySelector(".results tbody");
  // Those that wait in the template belong to the list as well.
  const inside = (place) => place ? [...place.querySelectorAll("tr[data-at]")] : [];
  const rows = [...inside(list), ...inside(byId("rest")?.content)];
  const data = JSON.parse(byId("data").textContent);
  const language = () => root.dataset.lang;

  /** What a list can be narrowed by, beside words; entries have the same names. */
  const choices = ["kind", "verdict", "model", "engine", "tag"];
  const days = ["from", "until"];

  let most = data.rows;
  const filter = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = choices.map((id) => [id, byId(id).value]).filter(([, value]) => value);
    const [from, until] = days.map((id) => byId(id).value);
    const fits = (row) => {
      const entry = data.entries[row.dataset.at];
      return words.every((word) => entry.words.includes(word))
        && wanted.every(([id, value]) => [entry[id]].flat().includes(value))
        && (!from || entry.day >= from) && (!until || (entry.day && entry.day <= until));
    };
    const found = rows.filter(fits);
    if (rows.length) list.replaceChildren(...found.slice(0, most));
    byId("shown").textContent = `${found.length} / ${rows.length}`;
    const count = found.length - most;
    byId("more").hidden = count <= 0;
    byId("more").textContent = data.more[language()].replace("{count}", Math.min(count, data.rows));
  };

  // In the order in which they were ticked: the first is the baseline.
  let ticked = [];
  const chosen = () => ticked.map((at) => data.entries[at]);
  const tick = (at, isTicked) => {
    ticked = ticked.filter((it) => it !== at);
    if (isTicked) ticked.push(at);
  };

  const cell = (kind, text, title) => {
    const element = document.createElement(kind);
    element.textContent = text;
    if (title) element.className = title;
    return element;
  };

  const number = (value) => {
    const size = Math.abs(value);
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };

  /** Whether two results are of one kind of load and of about the same lengths. */
  const alike = (a, b) => {
    if (a.climbs && b.climbs && a.climbs !== b.climbs) return false;
    const lengths = (entry) => entry.lengths ?? [null, null];
    return lengths(a).every((own, at) => {
      const other = lengths(b)[at];
      return own === null || other === null || Math.abs(own - other) <= 0.05 * Math.max(own, other);
    });
  };

  const compare = () => {
    const entries = chosen();
    const table = byId("ratios");
    table.replaceChildren();
    byId("choose-two").hidden = entries.length >= 2;
    byId("not-a-test").hidden = entries.length < 2;
    const test = byId("test");
    if (test) {
      test.hidden = entries.length < 2 || !entries.every((entry) => entry.comparable);
      const ids = entries.map((entry) => entry.page.replace(/^runs\//, "")).join(",");
      test.firstChild.href = `compare?ids=${ids}`;
    }
    byId("unlike").hidden = entries.length < 2 || entries.every((entry) => alike(entries[0], entry));
    const names = entries.map((entry) => encodeURIComponent(entry.page)).join(",");
    history.replaceState(null, "", names ? `#compare=${names}` : location.pathname + location.search);
    if (entries.length < 2) return;
    const head = document.createElement("tr");
    head.append(cell("th", data.metric[language()]));
    for (const entry of entries) {
      const facts = [entry.title, entry.point, entry.state[language()], entry.flaws[language()], entry.computed && data.computed[language()]];
      const mark = alike(entries[0], entry) ? "" : " ≠";
      const title = cell("th", facts.filter(Boolean).join(" · ") + mark, "number");
      head.append(title);
    }
    table.append(head);
    data.metrics.forEach((metric, at) => {
      const values = entries.map((entry) => entry.values[at]);
      if (values.every((value) => value === null)) return;
      const row = document.createElement("tr");
      row.append(cell("td", `${metric[language()]} (${metric.unit})`));
      values.forEach((value, column) => {
        const base = values[0];
        const ratio = column > 0 && value !== null && base ? ` (×${(value / base).toFixed(3)})` : "";
        row.append(cell("td", value === null ? "n/a" : number(value) + ratio, "number"));
      });
      table.append(row);
    });
  };

  const asked = (location.hash.match(/^#compare=(.*)$/)?.[1] ?? "").split(",").map((name) => {
    try { return decodeURIComponent(name); } catch { return ""; }
  });
  const boxes = new Map();
  for (const row of rows) {
    const { at } = row.dataset;
    const box = row.querySelector("input");
    if (!box) continue;
    boxes.set(data.entries[at].page, { at, box });
    box.addEventListener("change", () => {
      tick(at, box.checked);
      compare();
    });
  }
  for (const { at, box } of asked.flatMap((page) => boxes.get(page) ?? [])) {
    box.checked = true;
    tick(at, true);
  }
  for (const id of ["search", ...choices, ...days]) byId(id).addEventListener("input", filter);
  byId("more").addEventListener("click", () => {
    most += data.rows;
    filter();
  });
  reader(() => {
    filter();
    compare();
  });
  filter();
  compare();
  // A list that grows is read again, unless somebody is choosing.
  const idle = () => !chosen().length && ["search", ...choices, ...days].every((id) => !byId(id).value);
  const atTop = () => !document.hidden && window.scrollY === 0;
  if (byId("test")) {
    const isGrowing = data.entries.some((entry) => entry.running);
    setInterval(() => { if (idle() && (isGrowing || atTop())) location.reload(); }, isGrowing ? 5000 : 30000);
  }
})();
