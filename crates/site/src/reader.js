"use strict";
/** The reader's language and theme, and their buttons; `changed` is told of another language. */
const reader = (changed) => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  /** Texts that cannot hold two elements: titles, choices (the first names them all) and placeholders. */
  const translate = () => {
    for (const place of [document, document.getElementById("rest")?.content]) {
      for (const element of place?.querySelectorAll("[data-en]") ?? []) {
        const text = element.dataset[root.dataset.lang];
        if (element instanceof HTMLInputElement) element.placeholder = element.ariaLabel = text;
        else element.textContent = text;
        if (element instanceof HTMLOptionElement && !element.value) element.parentElement.ariaLabel = text;
      }
    }
  };
  const speak = (word) => {
    root.dataset.lang = word;
    root.lang = word === "zh" ? "zh-CN" : "en";
    translate();
  };
  // What was chosen on one page holds for all of this site, where the browser keeps it.
  const kept = (name) => { try { return localStorage.getItem(`inferometer-${name}`); } catch { return null; } };
  const keep = (name, word) => { try { localStorage.setItem(`inferometer-${name}`, word); } catch { /* not kept */ } };
  // A language that nobody chose is the reader's, as far as the page has it.
  if (root.dataset.follow !== undefined) {
    const wanted = [kept("language"), ...navigator.languages.map((it) => it.slice(0, 2))];
    const known = wanted.find((it) => ["en", "zh"].includes(it));
    if (known) root.dataset.lang = known;
  }
  speak(root.dataset.lang);
  if (["dark", "light"].includes(kept("theme"))) root.dataset.theme = kept("theme");
  document.getElementById("language").addEventListener("click", () => {
    speak(root.dataset.lang === "zh" ? "en" : "zh");
    keep("language", root.dataset.lang);
    changed?.();
  });
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    keep("theme", root.dataset.theme);
  });
};
