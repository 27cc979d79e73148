// Uses the index as a reader would, and tells what happened.
(async () => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const shown = () => [...document.querySelectorAll('tr[data-at]')].filter((row) => row.offsetParent);
  const names = () => shown().map((row) => row.querySelector('a').innerText);
  const choose = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event('input')); };
  const colour = () => getComputedStyle(document.body).backgroundColor;
  const ratios = () => [...byId('ratios').rows].map((row) => row.innerText);
  const seen = {all: shown().length};

  choose('search', 'LABEL second');
  seen.searched = names();
  choose('search', '');
  choose('tag', 'engine=vllm');
  seen.tagged = names();
  choose('tag', '');
  choose('model', 'model of second');
  seen.ofModel = names();
  choose('engine', 'vllm 1.0');
  seen.ofNone = names();
  choose('model', '');
  seen.ofEngine = names();
  choose('engine', '');
  choose('from', '2026-11-16');
  seen.later = names();
  choose('until', '2026-11-16');
  seen.thatDay = names();
  choose('from', '');
  choose('until', '');
  choose('kind', 'sweep');
  seen.none = names();
  choose('kind', '');

  const boxes = [...document.querySelectorAll('tr[data-at] input')];
  boxes[0].click();
  seen.alone = ratios().length;
  boxes[1].click();
  seen.compared = ratios();

  seen.titles = [document.querySelector('h1').innerText];
  seen.hints = [byId('search').placeholder];
  seen.heads = [ratios()[0]];
  byId('language').click();
  seen.titles.push(document.querySelector('h1').innerText);
  seen.hints.push(byId('search').placeholder);
  seen.heads.push(ratios()[0]);

  seen.colours = [colour()];
  for (let i = 0; i < 2; i++) {
    byId('theme').click();
    seen.colours.push(colour());
  }
  seen.images = document.querySelectorAll('img').length;
  seen.width = root.scrollWidth;
  seen.errors = window.seen;
  parent.postMessage(JSON.stringify(seen), '*');
})();
