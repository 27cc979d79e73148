"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const data = JSON.parse(byId("data").textContent);
  const chinese = () => root.dataset.lang === "zh";
  const say = (texts) => texts[chinese() ? 1 : 0];
  let last = null;

  const number = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2;
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };

  const count = (value) => value.toLocaleString("en-US");

  /** The least round number that is not below a value. */
  const round = (value) => {
    const power = 10 ** Math.floor(Math.log10(value || 1));
    return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 1;
  };

  const draw = (id, partSeconds, ...curves) => {
    const svg = byId(id);
    const make = (kind, attributes, text) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (text !== undefined) element.textContent = text;
      return element;
    };
    const [left, right, top, bottom] = [52, 592, 10, 136];
    const known = curves.flat().filter((value) => value !== null);
    const most = round(Math.max(...known, 0));
    const length = Math.max(...curves.map((curve) => curve.length), 2);
    const x = (at) => left + (right - left) * at / (length - 1);
    const y = (value) => bottom - (bottom - top) * value / most;
    const parts = [0, 0.5, 1].flatMap((share) => [
      make("line", { x1: left, x2: right, y1: y(share * most), y2: y(share * most) }),
      make("text", { x: left - 6, y: y(share * most) + 4, "text-anchor": "end" }, number(share * most)),
    ]);
    parts.push(make("text", { x: right, y: 154, "text-anchor": "end" }, `${Math.round(length * partSeconds)} s`));
    curves.forEach((curve, nth) => {
      const points = curve.map((value, at) => value === null ? "" : `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
      parts.push(make("polyline", { points: points.filter(Boolean).join(" "), class: nth ? "second" : "first" }));
    });
    svg.replaceChildren(...parts);
  };

  const show = () => {
    if (!last) return;
    const { course, summary } = last;
    // The last part has only begun.
    const parts = course.parts.slice(0, Math.max(course.parts.length - 1, 1));
    const now = parts.at(-1);
    byId("state").textContent = say(data.running);
    byId("elapsed").textContent = `${count(Math.round(course.parts.length * course.part_s))} s`;
    // A run of a given time has no plan but that.
    byId("done").textContent = count(course.ok) + (last.planned > course.ok ? ` / ${count(last.planned)}` : "");
    byId("failed").textContent = count(course.failed);
    byId("requests").textContent = number(now?.requests_per_s);
    byId("tokens").textContent = number(now?.output_tokens_per_s);
    byId("ttft").textContent = `${number(summary.ttft_p50)} / ${number(summary.ttft_p99)}`;
    byId("tpot").textContent = number(summary.tpot_p50);
    draw("chart-tokens", course.part_s, parts.map((part) => part.output_tokens_per_s));
    draw("chart-requests", course.part_s, parts.map((part) => part.requests_per_s));
    for (const name of ["ttft", "tpot"]) {
      const of = (key) => parts.map((part) => part[`${name}_ms`]?.[key] ?? null);
      draw(`chart-${name}`, course.part_s, of("p50"), of("p99"));
    }
    draw("chart-failed", course.part_s, parts.map((part) => part.failed));
    const doubts = last.doubts[chinese() ? "zh" : "en"];
    byId("no-doubts").hidden = doubts.length > 0;
    byId("doubts").replaceChildren(...doubts.map((doubt) => {
      const line = document.createElement("li");
      const code = document.createElement("b");
      code.textContent = `${doubt.severity} ${doubt.code}: `;
      if (doubt.severity === "invalid") code.className = "invalid";
      line.append(code, `${doubt.text} → ${doubt.remedy}`);
      return line;
    }));
  };

  const events = new EventSource(`${data.run}/live`);
  events.onmessage = (event) => {
    const told = JSON.parse(event.data);
    if (told.ended) {
      events.close();
      // The server of a run of its own ends with it, and its last figures stay.
      const stay = () => { byId("state").textContent = say(data.ended); };
      fetch(location.href).then((answer) => answer.ok ? location.reload() : stay(), stay);
      return;
    }
    if (told.waiting) return;
    last = told;
    show();
  };
  events.onerror = () => { byId("state").textContent = say(data.away); };
  byId("end")?.addEventListener("click", () => {
    if (confirm(say(data.sure))) fetch(`${data.run}/end`, { method: "POST", headers: { "X-Inferometer": "1" } });
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  byId("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
  byId("language").addEventListener("click", () => {
    root.dataset.lang = chinese() ? "en" : "zh";
    root.lang = chinese() ? "zh-CN" : "en";
    show();
  });
})();
