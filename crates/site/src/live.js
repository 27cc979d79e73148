(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const data = JSON.parse(byId("data").textContent);
  const chinese = () => root.dataset.lang === "zh";
  const say = (texts) => texts[chinese() ? 1 : 0];
  /** A text with its values in the places that bear their names. */
  const fill = (texts, values) => say(texts).replace(/\{(\w+)\}/g, (_, name) => values[name]);
  let last = null;
  let away = false;

  const number = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2;
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };

  const count = (value) => value.toLocaleString("en-US");

  const clock = (seconds) => {
    const whole = Math.round(seconds);
    const two = (value) => String(value).padStart(2, "0");
    if (whole < 60) return `${whole}s`;
    if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
    return `${Math.floor(whole / 3600)}h${two(Math.floor(whole % 3600 / 60))}m`;
  };

  const left = (seconds) => seconds === null ? [] : [fill(data.left, { time: clock(seconds) })];

  /** The least round number that is not below a value. */
  const round = (value) => {
    const power = 10 ** Math.floor(Math.log10(value || 1));
    return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 1;
  };

  const make = (kind, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  /**
   * Curves over equal steps: of time, or of what was measured. Labels stand below their steps,
   * marks are upright lines with a label; dots are for curves that may have one value alone.
   */
  const tick = (value) => Number(value.toPrecision(3)).toLocaleString("en-US");

  /** What each chart shows now, for those who take it along. */
  const drawn = new Map();

  const save = (name, text, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  /** The chart as a file of its own: the page's style is written into it. */
  const asSvg = (svg) => {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "font-size", "font-family"];
    const own = [...svg.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((part, nth) => {
      const style = getComputedStyle(own[nth]);
      for (const name of kept) part.setAttribute(name, style.getPropertyValue(name));
    });
    const fill = getComputedStyle(document.body).backgroundColor;
    copy.prepend(make("rect", { width: "100%", height: "100%", fill }));
    return copy.outerHTML;
  };

  const asCsv = ({ curves, names, place, places }) => {
    const quoted = (word) => `"${String(word).replaceAll('"', '""')}"`;
    const cell = (value) => value === null || value === undefined ? "" : typeof value === "number" ? value : quoted(value);
    const length = Math.max(...curves.map((curve) => curve.length));
    const rows = Array.from({ length }, (_, at) => [places(at), ...curves.map((curve) => curve[at])]);
    return [[place, ...names], ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  };

  for (const figure of document.querySelectorAll(".charts figure")) {
    const svg = figure.querySelector("svg");
    const ways = { SVG: () => save(`${svg.id}.svg`, asSvg(svg), "image/svg+xml"), CSV: () => save(`${svg.id}.csv`, asCsv(drawn.get(svg.id)), "text/csv") };
    const buttons = Object.entries(ways).map(([name, take]) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: name, className: "take" });
      button.addEventListener("click", take);
      return button;
    });
    const both = document.createElement("span");
    both.className = "ways";
    both.append(...buttons);
    figure.querySelector("figcaption").append(both);
  }

  const draw = (id, { curves, labels, marks = [], dots = false, place, places }) => {
    const svg = byId(id);
    const title = svg.previousElementSibling;
    const keys = [...title.querySelectorAll(".key")].map((key) => key.innerText.trim());
    const words = (title.querySelector(`[lang=${chinese() ? "zh-CN" : "en"}]`) ?? title.firstChild).textContent.trim();
    const names = curves.map((_, nth) => keys[nth] ? `${words} ${keys[nth]}` : words);
    drawn.set(id, { curves, names, place, places });
    const known = curves.flat().filter((value) => value !== null);
    svg.closest("figure").hidden = known.length === 0;
    if (known.length === 0) return;
    // As wide as its place, so that words keep their size.
    const wide = Math.max(svg.clientWidth, 200);
    svg.setAttribute("viewBox", `0 0 ${wide} 160`);
    const [start, end, top, bottom] = [52, wide - 16, 10, 136];
    const most = round(Math.max(...known, 0));
    const length = Math.max(...curves.map((curve) => curve.length), 2);
    const x = (at) => start + (end - start) * at / (length - 1);
    const y = (value) => bottom - (bottom - top) * value / most;
    const parts = [0, 0.5, 1].flatMap((share) => [
      make("line", { x1: start, x2: end, y1: y(share * most), y2: y(share * most) }),
      make("text", { x: start - 6, y: y(share * most) + 4, "text-anchor": "end" }, tick(share * most)),
    ]);
    for (const [at, label] of marks) {
      const long = [...label].reduce((sum, sign) => sum + (sign > "ÿ" ? 13 : 7), 4);
      const anchor = x(at) + long > wide ? "end" : "start";
      // Above the curves or below them, where there is more room.
      const [from, to] = anchor === "end" ? [x(at) - long, x(at)] : [x(at), x(at) + long];
      const beside = curves.flatMap((curve) => curve.filter((value, nth) => value !== null && x(nth) >= from - 8 && x(nth) <= to + 8).map(y));
      const isLow = bottom - Math.max(...beside, top) >= Math.min(...beside, bottom) - top;
      parts.push(make("line", { x1: x(at), x2: x(at), y1: top, y2: bottom, class: "mark" }));
      parts.push(make("text", { x: x(at) + (anchor === "end" ? -4 : 4), y: isLow ? bottom - 5 : top + 10, "text-anchor": anchor, class: "mark" }, label));
    }
    // One that has no room beside the last is left out.
    let edge = -Infinity;
    for (const [at, label] of labels) {
      const half = 3.5 * label.length;
      const anchor = x(at) + half > wide ? "end" : "middle";
      const middle = anchor === "end" ? wide - 2 - half : x(at);
      if (middle - half < edge) continue;
      edge = middle + half + 4;
      parts.push(make("text", { x: anchor === "end" ? wide - 2 : x(at), y: 154, "text-anchor": anchor }, label));
    }
    curves.forEach((curve, nth) => {
      const kind = nth ? "second" : "first";
      const points = curve.map((value, at) => value === null ? null : [x(at).toFixed(1), y(value).toFixed(1)]);
      parts.push(make("polyline", { points: points.filter(Boolean).map((it) => it.join(",")).join(" "), class: kind }));
      // One value alone is no line.
      if (dots || points.filter(Boolean).length === 1) for (const [cx, cy] of points.filter(Boolean)) parts.push(make("circle", { cx, cy, r: 3, class: kind }));
    });
    svg.setAttribute("aria-label", names.join(", "));
    for (const button of title.querySelectorAll("button")) button.ariaLabel = `${button.textContent}: ${words}`;
    svg.replaceChildren(...parts);
  };

  /** A course over time, with the beginnings of phases as marks. */
  const over = (run, parts) => (id, ...curves) => {
    const { part_s } = run.course;
    const length = Math.max(parts.length, 2);
    const all = (length - 1) * part_s;
    const every = round(all / 5);
    const times = Array.from({ length: Math.floor(all / every + 1e-6) + 1 }, (_, nth) => nth * every);
    draw(`chart-${id}`, {
      curves: curves.map((curve) => curve.slice(0, parts.length)),
      place: "s",
      places: (at) => at * part_s,
      labels: times.map((at) => [at / part_s, `${tick(at)} s`]),
      marks: run.phases.slice(1).map(({ stage, from_s }) => [Math.min(from_s / part_s, length - 1), say(data.phases[stage])]),
    });
  };

  const showRun = (run) => {
    // Of the last parts not all is known yet.
    const parts = run.course.parts.slice(0, run.course.whole);
    const now = parts.at(-1);
    const both = (middle) => `${number(middle?.p50)} / ${number(middle?.p99)}`;
    const { is_simulated, facts } = run.about;
    byId("about").textContent = [...(is_simulated ? [say(data.simulated)] : []), ...facts].join(" · ");
    byId("about").hidden = false;
    byId("elapsed").textContent = clock(run.elapsed_s);
    byId("done").textContent = count(run.measured) + (run.planned === null ? "" : ` / ${count(run.planned)}`);
    byId("in-flight").textContent = count(run.in_flight);
    byId("failed").textContent = count(run.failed);
    byId("failed").className = run.failed > 0 ? "invalid" : "";
    byId("requests").textContent = number(now?.requests_per_s);
    byId("tokens").textContent = number(now?.output_tokens_per_s);
    byId("objectives").replaceChildren(...run.objectives.map(({ objective, value_ms, share, met }) => {
      const line = document.createElement("li");
      const state = met === null ? data.undecided : met ? data.met : data.missed;
      const is_speed = objective.startsWith("per_user");
      const told = is_speed ? `${number(1000 / value_ms)} tok/s` : `${number(value_ms)} ms`;
      const value = value_ms !== null ? told : share !== null ? `${number(share * 100)} %` : "–";
      line.textContent = `${objective}: ${value} · ${say(state)}`;
      line.className = met === null ? "faint" : met ? "valid" : "invalid";
      return line;
    }));
    byId("objectives-part").hidden = run.objectives.length === 0;
    byId("ttft").textContent = both(run.ttft_ms);
    byId("tpot").textContent = both(run.tpot_ms);
    const course = over(run, parts);
    course("tokens", parts.map((part) => part.output_tokens_per_s));
    course("requests", parts.map((part) => part.requests_per_s));
    course("in-flight", parts.map((part) => part.in_flight));
    for (const name of ["ttft", "tpot"]) {
      const of = (key) => parts.map((part) => part[`${name}_ms`]?.[key] ?? null);
      course(name, of("p50"), of("p99"));
    }
    course("failed", parts.map((part) => part.failed));
    course("server", run.gauges.running, run.gauges.waiting);
    course("kv", run.gauges.kv_use.map((share) => share === null ? null : share * 100));
    course("power", run.gauges.power_w);
    const doubts = run.doubts[chinese() ? "zh" : "en"];
    byId("no-doubts").hidden = doubts.length > 0;
    const open = new Set([...document.querySelectorAll("#doubts [open]")].map((it) => it.dataset.code));
    byId("doubts").replaceChildren(...doubts.map((doubt) => {
      const part = (kind, text, name = "") => {
        const element = document.createElement(kind);
        element.textContent = text;
        element.className = name;
        return element;
      };
      const details = document.createElement("details");
      details.dataset.code = doubt.code;
      details.open = open.has(doubt.code);
      const summary = document.createElement("summary");
      summary.append(part("b", say(data.severities[doubt.severity]), doubt.severity), " ", part("code", doubt.code), ` ${doubt.text}`);
      details.append(summary, part("p", `→ ${doubt.remedy}`));
      const line = document.createElement("li");
      line.append(details);
      return line;
    }));
  };

  /** Figures of summary.json that every table has. */
  const shownAnyway = [
    "throughput.output_tokens_per_s", "throughput.requests_per_s", "latency.ttft_ms.p50", "latency.ttft_ms.p99", "latency.tpot_ms.p50",
  ];

  const showLadder = (ladder) => {
    const values = { done: count(ladder.steps.length), all: count(ladder.planned ?? 0) };
    const done = fill(ladder.planned === null ? data.steps : data.stepsOf, values);
    byId("steps").textContent = [done, ...left(ladder.left_s)].join(" · ");
    // By load where each has one and they are a ladder, else in the order in which they came.
    const climbs = ladder.axis !== null && ladder.steps.every((step) => step.load !== null);
    const steps = climbs ? [...ladder.steps].sort((a, b) => a.load - b.load) : ladder.steps;
    const every = Math.max(Math.ceil(steps.length / 10), 1);
    const label = (step, at) => [at, climbs ? String(Number(step.load.toPrecision(4))) : String(at + 1)];
    const labels = steps.map(label).filter((_, at) => at % every === 0);
    const of = (key) => steps.map((step) => step[key]);
    const chart = (id, ...curves) => draw(`chart-step-${id}`, { curves, labels, dots: true, place: say(data.place), places: (at) => steps[at].place });
    chart("tokens", of("output_tokens_per_s"));
    chart("ttft", of("ttft_p50_ms"), of("ttft_p99_ms"));
    const objective = shownAnyway.includes(ladder.objective) ? null : ladder.objective;
    chart("objective", objective === null ? [] : of("objective"));
    const placed = ({ place, purpose }) => place === "–" ? say(data.default) : purpose ? `${say(data.purposes[purpose])} ${place}` : place;
    const cell = (kind, text, name = "") => {
      const element = document.createElement(kind);
      element.textContent = text;
      element.className = name;
      return element;
    };
    const row = (cells) => {
      const element = document.createElement("tr");
      element.append(...cells);
      return element;
    };
    const figures = [
      ...(objective === null ? [] : [[objective, "objective"]]),
      ["req/s", "requests_per_s", "aside"], ["tok/s", "output_tokens_per_s"],
      ["TTFT p50 ms", "ttft_p50_ms", "aside"], ["TTFT p99 ms", "ttft_p99_ms"], ["TPOT p50 ms", "tpot_p50_ms", "aside"],
    ];
    const head = row([
      cell("th", say(data.place)), ...figures.map(([name, , kind = ""]) => cell("th", name, `number ${kind}`)),
      cell("th", say(data.failed), "number"), cell("th", say(data.state)), cell("th", say(data.notes), "aside"),
    ]);
    const bad = (state) => ["invalid", "failed", "refused", "crashed", "timeout"].includes(state);
    const rows = ladder.steps.map((step) => row([
      cell("td", placed(step)), ...figures.map(([, key, kind = ""]) => cell("td", number(step[key]), `number ${kind}`)),
      cell("td", step.failed === null ? "–" : count(step.failed), step.failed > 0 ? "number invalid" : "number"),
      cell("td", say(data.states[step.state]), bad(step.state) ? "invalid" : ""),
      cell("td", step.why ?? step.doubts.join(" "), "aside"),
    ]));
    byId("step-table").replaceChildren(head, ...rows);
  };

  const show = () => {
    if (!last) {
      byId("state").textContent = say(data.waiting);
      return;
    }
    const { run, ladder } = last;
    const phase = run?.phases.at(-1)?.stage;
    const state = run ? (phase ? data.phases[phase] : data.waiting) : ladder ? data.between : data.waiting;
    byId("state").textContent = say(away ? data.away : state);
    // Of several measurements, what is left of all stands with what was measured.
    byId("left").textContent = run && !away && !ladder ? left(run.left_s).join("") : "";
    byId("ladder").hidden = !ladder;
    byId("run").hidden = !run;
    byId("run-name").hidden = !ladder;
    // A probe of a search is kept by its number and its load.
    const load = ladder?.axis && run?.name.match(/^\d+-(.+)$/)?.[1];
    const name = load ? `${ladder.axis}=${load}` : run?.name;
    byId("run-name").textContent = run ? [name, ...left(run.left_s)].join(" · ") : "";
    if (run) showRun(run);
    if (ladder) showLadder(ladder);
  };

  let events = null;
  const heard = (event) => {
    const told = JSON.parse(event.data);
    away = false;
    if (told.ended) {
      events.close();
      // The server of a measurement of its own ends with it, and its last figures stay.
      const stay = () => { byId("state").textContent = say(data.ended); };
      fetch(location.href).then((answer) => answer.ok ? location.reload() : stay(), stay);
      return;
    }
    if (!told.waiting) last = told;
    show();
  };
  const lost = () => {
    away = true;
    byId("state").textContent = say(data.away);
    byId("left").textContent = "";
  };
  // A browser has few connections to one server: a page that nobody looks at asks now and then.
  let again = null;
  const follow = () => {
    clearTimeout(again);
    events?.close();
    events = new EventSource(`${data.run}/live`);
    events.onerror = lost;
    events.onmessage = (event) => {
      heard(event);
      if (!document.hidden || events.readyState === EventSource.CLOSED) return;
      events.close();
      again = setTimeout(follow, 10000);
    };
  };
  document.addEventListener("visibilitychange", follow);
  follow();
  byId("end")?.addEventListener("click", () => {
    if (confirm(say(data.sure))) fetch(`${data.run}/end`, { method: "POST", headers: { "X-Inferometer": "1" } });
  });
  addEventListener("resize", show);
  reader(show);
})();
