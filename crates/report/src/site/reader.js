"use strict";
/** The reader's language and theme, and their buttons; `changed` is told of another language. */
const reader = (changed) => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const speak = (word) => {
    root.dataset.lang = word;
    root.lang = word === "zh" ? "zh-CN" : "en";
  };
  // A language that nobody chose is the reader's, as far as the page has it.
  if (root.dataset.follow !== undefined) {
    const known = navigator.languages.map((it) => it.slice(0, 2)).find((it) => ["en", "zh"].includes(it));
    if (known) speak(known);
  }
  document.getElementById("language").addEventListener("click", () => {
    speak(root.dataset.lang === "zh" ? "en" : "zh");
    changed();
  });
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
};
