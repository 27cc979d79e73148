// Uses the page as a reader would, and tells what happened.
(async () => {
  const root = document.documentElement;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const plots = [...document.querySelectorAll('.plot')];
  for (let i = 0; i < 600 && plots.length && !root.dataset.charts; i++) await pause(100);
  const visible = (selector) => [...document.querySelectorAll(selector)].find((it) => it.offsetParent);
  // A chart is drawn when something of its data has a place on the screen.
  const marks = '.trace path, .trace .point, .bars path, .heatmaplayer image, .heatmaplayer path';
  const isDrawn = (plot) => [...plot.querySelectorAll(marks)].some((mark) => {
    const box = mark.getBoundingClientRect();
    return box.width + box.height > 2;
  });
  const seen = {plots: plots.length, drawn: plots.filter(isDrawn).length};
  const texts = () => plots.map((plot) => [...plot.querySelectorAll('text')].map((it) => it.textContent).join()).join();
  const colour = () => getComputedStyle(document.body).backgroundColor;
  const click = async (id) => { document.getElementById(id).click(); await pause(1500); };

  const column = (head) => [...head.closest('table').tBodies[0].rows].map((row) => {
    const cell = row.cells[head.cellIndex];
    return Number(cell.dataset.value ?? cell.innerText.replace(/,/g, ''));
  }).filter((value) => !Number.isNaN(value));
  const head = [...document.querySelectorAll('th.right')].find((it) => it.offsetParent && column(it).length > 1);
  if (head) {
    head.click();
    const up = column(head);
    head.click();
    const down = column(head);
    const rising = (list) => list.every((value, i) => i === 0 || list[i - 1] <= value);
    seen.sorted = rising(up) && rising(down.slice().reverse()) && head.ariaSort === 'descending';
  }
  for (const format of ['markdown', 'csv']) {
    navigator.clipboard.writeText = async (text) => { seen[format] = text; };
    visible(`[data-copy=${format}]`)?.click();
    await pause(200);
  }
  // What is saved is not kept, but looked at.
  const saved = {};
  let last = null;
  const Kept = Blob;
  window.Blob = function (parts, options) {
    if (typeof parts[0] === 'string') last = parts.join('');
    return new Kept(parts, options);
  };
  URL.createObjectURL = () => '#';
  HTMLAnchorElement.prototype.click = function () { saved[this.download] = last; };
  seen.taken = plots.every((plot) => [...plot.closest('.panel').querySelectorAll('[data-take]')].map((it) => it.textContent).join() === 'PNG,CSV');
  document.querySelector('[data-take=csv]')?.click();
  seen.values = Object.entries(saved).map(([name, text]) => [name.endsWith('.csv'), text.split('\n')[0].includes(','), text.trim().split('\n').length > 1]);
  document.getElementById('download').click();
  await pause(1500);
  seen.numbers = typeof JSON.parse(saved['report.json'] ?? '""');

  seen.languages = [root.lang];
  seen.titles = [visible('h2').innerText];
  seen.axes = [texts()];
  seen.colours = [colour()];
  await click('language');
  seen.languages.push(root.lang);
  seen.titles.push(visible('h2').innerText);
  seen.axes.push(texts());
  await click('language');
  seen.languages.push(root.lang);
  await click('theme');
  seen.colours.push(colour());
  seen.images = document.querySelectorAll('img').length;
  seen.width = root.scrollWidth;
  seen.window = innerWidth;
  seen.errors = window.seen;
  parent.postMessage(JSON.stringify(seen), '*');
})();
