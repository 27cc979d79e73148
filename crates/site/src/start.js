(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const data = JSON.parse(byId("data").textContent);
  const say = (texts) => texts[root.dataset.lang === "zh" ? 1 : 0];
  const forms = [...document.querySelectorAll("form")];
  const chosen = () => forms.find((form) => form.dataset.command === byId("command").value);

  /** The words of the command line that the form stands for. */
  const words = () => {
    const found = [chosen().dataset.command];
    for (const input of chosen().querySelectorAll("[data-name]")) {
      const { name } = input.dataset;
      if (input.type === "checkbox") {
        if (input.checked) found.push(name);
        continue;
      }
      // Each line is a value of its own.
      const values = input.value.split("\n").map((value) => value.trim()).filter(Boolean);
      for (const value of values) found.push(...(name ? [`${name}=${value}`] : [value]));
    }
    return found;
  };

  const quoted = (word) => /^[\w\-.,:/=@%+]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

  const show = () => {
    for (const form of forms) form.hidden = form !== chosen();
    byId("line").textContent = ["inferometer", ...words()].map(quoted).join(" ");
  };

  const start = async () => {
    byId("start").disabled = true;
    byId("said").textContent = "";
    const asked = `api/start?lang=${root.dataset.lang}&words=${encodeURIComponent(JSON.stringify(words()))}`;
    try {
      const answer = await fetch(asked, { method: "POST", headers: { "X-Inferometer": "1" } });
      if (answer.ok) location.href = `runs/${encodeURIComponent((await answer.json()).id)}`;
      else byId("said").textContent = await answer.text();
    } catch {
      byId("said").textContent = say(data.away);
    }
    byId("start").disabled = false;
  };

  byId("command").addEventListener("change", show);
  for (const form of forms) {
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => { event.preventDefault(); start(); });
  }
  byId("start").addEventListener("click", start);
  byId("copy").addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(byId("line"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    // Where the browser does not let us, it is selected.
    try {
      await navigator.clipboard.writeText(byId("line").textContent);
      byId("said").textContent = say(data.copied);
    } catch { /* It is selected. */ }
  });
  reader(show);
  show();
})();
