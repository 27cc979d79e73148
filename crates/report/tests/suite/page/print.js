// Goes to the dark theme, then to paper and back, and tells what it saw.
(async () => {
  const root = document.documentElement;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const plots = [...document.querySelectorAll('.plot')];
  for (let i = 0; i < 600 && plots.length && !root.dataset.charts; i++) await pause(100);
  const colour = () => getComputedStyle(document.body).backgroundColor;
  const seen = {};
  document.getElementById('theme').click();
  await pause(500);
  seen.dark = colour();
  dispatchEvent(new Event('beforeprint'));
  seen.paper = colour();
  seen.charts = plots.map((plot) => {
    const drawn = plot.querySelector('.main-svg').getBoundingClientRect();
    return {drawn: [drawn.width, drawn.height], place: [plot.clientWidth, plot.clientHeight]};
  });
  dispatchEvent(new Event('afterprint'));
  await pause(500);
  seen.after = colour();
  seen.errors = window.seen;
  parent.postMessage(JSON.stringify(seen), '*');
})();
