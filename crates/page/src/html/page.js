'use strict';
(() => {
  const root = document.documentElement;
  // A server that lets only its own scripts run names them by this word.
  const nonce = document.currentScript?.nonce ?? '';
  const page = JSON.parse(document.getElementById('charts').textContent);
  const plots = [...document.querySelectorAll('.plot')];
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let theme = null;
  let printing = false;

  const lang = () => root.dataset.lang;
  const themeName = () => printing ? 'light' : theme || (dark.matches ? 'dark' : 'light');
  // A text that differs between the languages is {en, zh}.
  const say = (text) => (text && text.en !== undefined ? text[lang()] : text) ?? '';
  // Plotly reads some HTML in texts; here every sign stands for itself.
  const plain = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const brief = (text, most) => {
    const signs = [...String(text)];
    return plain(signs.length > most ? signs.slice(0, most - 1).join('') + '…' : signs.join(''));
  };
  // A name cut in its middle, and more of its end shown, where names that are alike mostly differ.
  const ends = (text, most) => {
    const signs = [...String(text)], head = Math.ceil((most - 1) / 3);
    return plain(signs.length > most ? `${signs.slice(0, head).join('')}…${signs.slice(head + 1 - most).join('')}` : text);
  };
  // Words in lines of at most so many pixels, in type of 11 pixels; Chinese signs are twice as wide.
  const inLines = (text, room) => {
    const wide = (words) => [...words].reduce((sum, sign) => sum + (sign > 'ÿ' ? 11.5 : 6), 0);
    const lines = [''];
    for (const word of text.split(/(?<= )|(?<=[\u3000-\uffef])/)) {
      if (lines[lines.length - 1] && wide(lines[lines.length - 1] + word.trimEnd()) > room) lines.push('');
      lines[lines.length - 1] += word;
    }
    return lines.map((line) => line.trimEnd()).join('<br>');
  };
  // A name beside its row: in lines, broken after a comma or a blank, where rows leave room for them.
  const folded = (text, rows) => {
    const most = 28;
    if (rows > 5) return ends(text, 44);
    const lines = [''];
    for (const word of String(text).split(/(?<=[, ])/)) {
      const last = lines.length - 1;
      if ([...(lines[last] + word).trimEnd()].length <= most || !lines[last]) lines[last] += word;
      else if (lines.length < 3) lines.push(word);
      else lines[last] += word;
    }
    return lines.map((line) => ends(line.trimEnd(), most + 12)).join('<br>');
  };
  const seeThrough = (hex, share) => {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${share})`;
  };

  // -- charts

  const colourOf = (look, colour) =>
    typeof colour === 'number' ? look.palette[colour % look.palette.length] : look[colour];

  // Names of curves that the reader has switched off.
  const hidden = (figure) => figure.hidden ??= new Set();

  function traces(panel, look) {
    const out = [];
    const unit = say(panel.y.unit);
    const value = (axis, given) => `${given}${axis.unit ? ' ' + plain(say(axis.unit)) : ''}`;
    for (const series of panel.series) {
      const colour = colourOf(look, series.colour);
      const name = plain(say(series.name));
      const names = panel.x.names && say(panel.x.names);
      const at = names && series.x ? series.x.map((x) => plain(say(names[x]))) : null;
      const common = {
        x: series.x, y: series.y, name, showlegend: name !== '', legendgroup: name,
        customdata: at || undefined, line: {color: colour, width: 2}, marker: {color: colour, size: 6},
        hovertemplate: `${at ? '%{customdata}' : value(panel.x, '%{x:,.4~r}')}<br><b>${
          value(panel.y, '%{y:,.4~r}')}</b>${name ? `<extra>${name.replace(/%/g, '&#37;')}</extra>` : '<extra></extra>'}`,
      };
      if (series.hollow) common.marker.symbol = series.hollow.map((it) => it ? 'circle-open' : 'circle');
      const few = !series.x || series.x.length <= 60;
      const labels = series.labels && series.labels.map((label) => plain(say(label)));
      const labelled = labels && labels.length <= (series.shape === 'line' ? 24 : 14);
      if (labels) {
        common.text = labels;
        // A curve that rises to the right leaves its upper left free, but for the numbers of the axis.
        const last = Math.max(...panel.series.flatMap((it) => it.x ?? []));
        const beside = (x) => panel.x.scale === 'zero' && x < 0.08 * last ? 'top right' : 'top left';
        common.textposition = series.shape === 'line' ? series.x.map(beside) : 'top center';
        common.cliponaxis = false;
        common.textfont = {size: 11, color: look.muted};
        common.hovertemplate = '%{text}<br>' + common.hovertemplate;
      }
      switch (series.shape) {
        case 'line':
          out.push(...bands(series, colour, name));
          out.push({...common, type: 'scatter', connectgaps: false,
            mode: (few ? 'lines+markers' : 'lines') + (labelled ? '+text' : '')});
          break;
        case 'step':
          out.push({...common, type: 'scatter', mode: 'lines', line: {...common.line, shape: 'hv'}});
          break;
        case 'area':
          out.push({...common, type: 'scatter', mode: 'lines', fill: 'tozeroy',
            line: {color: colour, width: 1.5}, fillcolor: seeThrough(colour, 0.18)});
          break;
        case 'scatter':
          out.push({...common, type: 'scatter', mode: labelled ? 'markers+text' : 'markers',
            marker: {color: colour, size: few ? 8 : 5, opacity: few ? 1 : 0.55}});
          break;
        case 'bars':
          out.push({...common, type: 'bar', marker: {color: colour},
            error_y: whiskers(series.interval, series.y, look)});
          break;
        case 'stack':
          out.push({...common, type: 'bar', marker: {color: colour}});
          break;
        case 'words':
          // The layout writes them, on a ground of their own; here they keep their room.
          out.push({...common, type: 'scatter', mode: 'markers', marker: {size: 1, opacity: 0}, hoverinfo: 'skip',
            hovertemplate: undefined});
          break;
        case 'ranges':
          out.push({...common, type: 'scatter', mode: 'markers', marker: {color: colour, size: 9},
            error_x: whiskers(series.interval, series.x, {muted: colour}),
            customdata: series.y.map((row) => plain(say(say(panel.y.names)[row]))),
            hovertemplate: '%{customdata}<br><b>%{x:.4~r}</b><extra></extra>'});
          break;
        case 'heat':
          out.push(heat(panel, series, look, unit));
      }
    }
    return out;
  }

  function whiskers(interval, values, look) {
    if (!interval) return undefined;
    const to = (end) => interval.map((ends, i) => ends && values[i] !== null ? Math.abs(ends[end] - values[i]) : 0);
    return {type: 'data', symmetric: false, array: to(1), arrayminus: to(0), color: look.muted, thickness: 1.2, width: 4};
  }

  // The interval of a line as a band, broken where it is not known.
  function bands(series, colour, name) {
    if (!series.interval) return [];
    const x = [], y = [];
    let run = [];
    const close = () => {
      if (run.length > 1) {
        const there = run.map((i) => [series.x[i], series.interval[i][1]]);
        const back = run.slice().reverse().map((i) => [series.x[i], series.interval[i][0]]);
        for (const [px, py] of [...there, ...back, there[0]]) { x.push(px); y.push(py); }
        x.push(null); y.push(null);
      }
      run = [];
    };
    series.interval.forEach((ends, i) => ends && series.y[i] !== null ? run.push(i) : close());
    close();
    return [{x, y, type: 'scatter', mode: 'lines', fill: 'toself', fillcolor: seeThrough(colour, 0.16),
      line: {width: 0}, hoverinfo: 'skip', showlegend: false, legendgroup: name}];
  }

  function heat(panel, series, look) {
    const columns = say(panel.x.names), rows = say(panel.y.names);
    const z = rows.map(() => columns.map(() => null));
    const text = rows.map(() => columns.map(() => ''));
    for (const [column, row, value, label] of series.cells) {
      z[row][column] = value;
      text[row][column] = plain(say(label));
    }
    const where = rows.map((row) => columns.map((column) => `${plain(say(column))} × ${plain(say(row))}`));
    const stops = look.heat.map((colour, i) => [i / (look.heat.length - 1), colour]);
    return {type: 'heatmap', z, text, customdata: where, x: columns.map((_, i) => i), y: rows.map((_, i) => i),
      texttemplate: columns.length * rows.length <= 200 ? '%{text}' : undefined, colorscale: stops,
      // Maps side by side have one meaning of dark.
      ...(series.ends ? {zmin: series.ends[0], zmax: series.ends[1]} : {}),
      xgap: 2, ygap: 2, showscale: false, hovertemplate: '%{customdata}<br><b>%{text}</b><extra></extra>'};
  }

  // A tick with all its digits, but for what arithmetic leaves at their end.
  const tickText = (at) => Number(at.toPrecision(12)).toLocaleString('en', {maximumFractionDigits: 20});

  // Narrowest distance of two ticks, as a share of their axis.
  const APART = 0.07;

  // Round numbers of a range by ratio: as fine as they keep apart, in a narrow range steps of equal size.
  function roundTicks(from, to) {
    const [low, high] = [Math.log10(from), Math.log10(to)], span = high - low || 1;
    const inside = (at) => at >= from * (1 - 1e-9) && at <= to * (1 + 1e-9);
    const apart = (ticks) => ticks.every((at, i) => !i || Math.log10(at / ticks[i - 1]) >= APART * span);
    if (to >= 1.5 * from) {
      for (const steps of [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
        const ticks = [];
        for (let power = Math.floor(low) - 1; power <= Math.ceil(high); power++) {
          for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(2)));
        }
        const shown = ticks.filter(inside);
        if (apart(shown) && shown.length >= 2) return shown;
      }
      if (span > 2) {
        const every = Math.ceil(span * APART * 2);
        const powers = Array.from({length: Math.ceil(high) - Math.floor(low) + 1}, (_, i) => Math.floor(low) + i);
        return powers.filter((power) => power % every === 0).map((power) => Number(`1e${power}`)).filter(inside);
      }
    }
    const least = (to - from) / 6, power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((it) => it * power >= least * (1 - 1e-9));
    const ticks = [];
    for (let at = Math.ceil(from / step - 1e-9); at <= to / step + 1e-9; at++) ticks.push(Number((at * step).toPrecision(12)));
    return ticks;
  }

  function axis(given, look, vertical, values) {
    const out = {
      title: {text: plain(say(given.title)), standoff: 8, font: {size: 12, color: look.muted}},
      gridcolor: look.grid, linecolor: look.axis, zeroline: false, automargin: true,
      tickfont: {size: 11, color: look.muted}, showline: !vertical, ticks: vertical ? '' : 'outside',
      tickcolor: look.axis, ticklen: 4,
    };
    if (given.names) {
      const names = say(given.labels ?? given.names);
      const step = Math.ceil(names.length / 40);
      const shown = names.map((_, i) => i).filter((i) => i % step === 0);
      const name = (i) => vertical ? folded(say(names[i]), names.length) : ends(say(names[i]), 28);
      Object.assign(out, {tickvals: shown, ticktext: shown.map(name),
        range: vertical ? [names.length - 0.5, -0.5] : [-0.5, names.length - 0.5], showgrid: false});
      return out;
    }
    out.separatethousands = true;
    const known = values.filter((value) => typeof value === 'number');
    const most = known.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    out.exponentformat = most > 0 && most < 1e-4 ? 'e' : 'none';
    if (given.scale === 'log') out.type = 'log';
    if (given.scale === 'zero') out.rangemode = 'tozero';
    if (given.bounds && given.scale === 'log') {
      const [low, high] = given.bounds.map(Math.log10), room = 0.04 * (high - low);
      out.range = [low - room, high + room];
    } else if (given.bounds) out.autorangeoptions = {include: given.bounds};
    else if (given.scale === 'zero' && !vertical) {
      // A line that stands at the largest value is not cut in half by the edge.
      out.autorangeoptions = {include: [most * 1.02]};
    }
    if (given.tickNames.length) {
      Object.assign(out, {tickvals: given.ticks, ticktext: given.tickNames.map(say)});
      return out;
    }
    if (given.ticks.length && given.ticks.length <= 14) {
      // Levels that would lie on each other have one tick for several; the last always has one.
      const [low, high] = [Math.min(...given.ticks), Math.max(...given.ticks)];
      const place = (at) => given.scale === 'log' ? Math.log(at / low) / Math.log(high / low) : at / high;
      let last = -1;
      const shown = given.ticks.filter((at) => {
        const fits = low === high || (place(at) - last >= APART && (at === high || 1 - place(at) >= APART));
        if (fits) last = place(at);
        return fits;
      });
      out.tickvals = shown;
    } else if (given.scale === 'log') {
      const above = known.concat(given.bounds || []).filter((value) => value > 0);
      let [low, high] = above.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, 0]);
      if (low > high) return out;
      // One value would have an axis of two decades, or of nothing.
      if (!given.bounds && high < 1.02 * low) {
        [low, high] = [low / 1.6, high * 1.6];
        out.range = [Math.log10(low), Math.log10(high)];
      }
      const room = out.range || given.bounds ? 1 : (high / low) ** 0.06;
      out.tickvals = roundTicks(low / room, high * room);
    }
    if (out.tickvals) out.ticktext = out.tickvals.map(tickText);
    return out;
  }

  // From values of an axis to shares of its length.
  function shares(axis, values) {
    const flat = (at) => axis.scale !== 'log' ? at : at > 0 ? Math.log10(at) : null;
    const known = values.concat(axis.bounds || []).filter((at) => typeof at === 'number').map(flat).filter((at) => at !== null);
    const low = axis.scale === 'zero' ? 0 : known.reduce((a, b) => Math.min(a, b), Infinity);
    const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    return (at) => typeof at !== 'number' || flat(at) === null ? null : (flat(at) - low) / (high - low || 1);
  }

  // Where the data of a panel lie, as shares of its width and height from the lower left.
  function places(panel, across) {
    const drawn = panel.series.filter((series) => series.x && series.y);
    const up = shares(panel.y, drawn.flatMap((series) => series.y));
    const found = [];
    for (const series of drawn) {
      const every = Math.ceil(series.x.length / 2000);
      const points = series.x.map((x, i) => [across(x), up(series.y[i])])
        .filter(([x, y], i) => x !== null && y !== null && i % every === 0);
      const joined = ['line', 'step', 'area'].includes(series.shape);
      points.forEach(([x, y], i) => {
        const [fromX, fromY] = joined && i ? points[i - 1] : [x, y];
        const steps = Math.max(1, Math.ceil(20 * Math.max(Math.abs(x - fromX), Math.abs(y - fromY))));
        for (let step = 1; step <= steps; step++) {
          found.push([fromX + (x - fromX) * step / steps, fromY + (y - fromY) * step / steps]);
        }
      });
    }
    return found;
  }

  // Labels of upright lines stand on several heights, those of neighbours never on one, and where
  // they hide the least.
  function marks(panel, look, shapes, annotations, width) {
    const logs = {x: panel.x.scale === 'log', y: panel.y.scale === 'log'};
    const across = shares(panel.x, panel.series.flatMap((series) => series.x || []));
    const data = panel.marks.some((mark) => mark.on === 'x' && say(mark.label)) ? places(panel, across) : [];
    const taken = new Set();
    // The height of a label that ends or begins at a line: the first that is free of data, else the freest.
    const heightFor = (at, toLeft, text) => {
      const line = across(at), long = [...text].reduce((sum, sign) => sum + (sign > 'ÿ' ? 12 : 7), 18) / Math.max(width - 70, 100);
      const [from, to] = toLeft ? [line - long, line] : [line, line + long];
      const covers = (slot) => data.filter(([x, y]) => {
        const bottom = 0.08 + 0.13 * slot;
        return x >= from && x <= to && y >= bottom - 0.04 && y <= bottom + 0.12;
      }).length;
      if (taken.size >= 6) taken.clear();
      const free = [0, 1, 2, 3, 4, 5].filter((slot) => !taken.has(slot));
      const best = free.reduce((a, b) => covers(b) < covers(a) ? b : a);
      taken.add(best);
      return 0.08 + 0.13 * best;
    };
    for (const mark of panel.marks) {
      const colour = look[mark.colour];
      const at = logs[mark.on] ? Math.log10(mark.at) : mark.at;
      const line = {color: colour, width: 1.2, dash: 'dash'};
      const word = {text: brief(say(mark.label), 40), showarrow: false, font: {size: 11, color: colour},
        bgcolor: seeThrough(look.background, 0.75), borderpad: 1};
      if (mark.on === 'x') {
        shapes.push({type: 'line', xref: 'x', yref: 'paper', x0: mark.at, x1: mark.at, y0: 0, y1: 1, line});
        const share = across(mark.at), toLeft = share >= 0.6;
        // To the side that has room: a label beyond the last value would be cut, and one that is wider
        // than its side would stretch the axis.
        const room = (toLeft ? share : 1 - share) * Math.max(width - 70, 100);
        const text = inLines(brief(say(mark.label), 60), Math.max(room - 8, 60));
        if (say(mark.label)) annotations.push({...word, text, xref: 'x', yref: 'paper', x: at, y: heightFor(mark.at, toLeft, say(mark.label)),
          ...(toLeft ? {xanchor: 'right', xshift: -3} : {xanchor: 'left', xshift: 3}), yanchor: 'bottom'});
      } else {
        shapes.push({type: 'line', xref: 'paper', yref: 'y', x0: 0, x1: 1, y0: mark.at, y1: mark.at, line});
        annotations.push({...word, xref: 'paper', yref: 'y', x: 0, y: at, xanchor: 'left', yanchor: 'bottom', xshift: 3});
      }
    }
    for (const shade of panel.shades) {
      shapes.push({type: 'rect', xref: 'x', yref: 'paper', x0: shade.from, x1: shade.to, y0: 0, y1: 1,
        fillcolor: look.shade, opacity: look.shadeStrength, line: {width: 0}, layer: 'below'});
      const label = say(shade.label);
      if (label) annotations.push({text: brief(label, 40), showarrow: false, xref: 'x', yref: 'paper',
        x: logs.x ? Math.log10(shade.from * shade.to) / 2 : (shade.from + shade.to) / 2, y: 1, yanchor: 'top', font: {size: 11, color: look.muted},
        bgcolor: seeThrough(look.background, 0.75)});
    }
  }

  function layout(panel, look, width) {
    const shapes = [], annotations = [];
    marks(panel, look, shapes, annotations, width);
    for (const series of panel.series.filter((it) => it.shape === 'words')) {
      series.x.forEach((x, i) => annotations.push({x, y: series.y[i], text: plain(say(series.labels[i])), showarrow: false,
        font: {size: 11, color: look.muted}, bgcolor: look.background, borderpad: 1}));
    }
    const intervals = (of) => panel.series.filter((series) => (series.shape === 'ranges' ? 'x' : 'y') === of)
      .flatMap((series) => (series.interval || []).flatMap((ends) => ends || []));
    const marked = (of) => panel.marks.filter((mark) => mark.on === of).map((mark) => mark.at);
    const values = (of) => panel.series.flatMap((series) => series[of] || []).concat(intervals(of), marked(of));
    const x = axis(panel.x, look, false, values('x')), y = axis(panel.y, look, true, values('y'));
    // The label of a shade stands over the first row, not on what lies there.
    if (panel.y.names && panel.shades.some((shade) => say(shade.label))) y.range[1] -= 0.9;
    // The heading over the chart says the unit where the axis has no words of its own.
    if (say(panel.y.title) === say(panel.y.unit)) y.title.text = '';
    const named = panel.series.filter((series) => say(series.name) !== '').length;
    return {
      xaxis: x, yaxis: y, shapes, annotations, barmode: panel.series.some((series) => series.shape === 'stack') ? 'stack' : 'group', bargap: 0.25,
      paper_bgcolor: look.background, plot_bgcolor: look.background,
      font: {family: getComputedStyle(document.body).fontFamily, color: look.text, size: 12},
      margin: {l: 48, r: 14, t: 10, b: 40},
      showlegend: named > 0, legend: {orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom', font: {size: 11}},
      hoverlabel: {namelength: 60, bgcolor: look.background, bordercolor: look.axis, font: {color: look.text}},
      // A finger that is drawn over a chart scrolls the page.
      hovermode: 'closest', dragmode: matchMedia('(hover: hover)').matches ? 'zoom' : false,
    };
  }

  function draw(plot) {
    const look = page.themes[themeName()];
    const figure = page.figures[plot.dataset.figure];
    const panel = figure.panels[plot.dataset.panel];
    const arranged = layout(panel, look, plot.clientWidth);
    if (sharesLegend(figure)) arranged.showlegend = false;
    const drawn = traces(panel, look).filter((trace) => !hidden(figure).has(trace.legendgroup));
    for (const trace of drawn) if (trace.name) trace.name = inLines(trace.name, plot.clientWidth - 60);
    if (figure.stacked) {
      // Charts over one axis lie under each other to the pixel, and say once what it is.
      arranged.margin.l = 64;
      arranged.yaxis.automargin = false;
      if (panel.x.bounds) arranged.xaxis.range = panel.x.bounds;
      if (panel !== figure.panels.at(-1)) arranged.xaxis.title.text = '';
    }
    if (printing) Object.assign(arranged, {width: plot.clientWidth, height: plot.clientHeight});
    return Plotly.react(plot, drawn, arranged,
      {responsive: true, displayModeBar: false});
  }

  // -- a chart to take along

  const quoted = (text) => /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

  // What a chart shows as a table: a line for each value, with its interval where it has one.
  function table(panel) {
    const named = (axis, at) => axis.names ? say(say(axis.names)[at]) : at;
    const head = (axis, other) => say(axis.title) || say(axis.unit) || other;
    const grid = panel.series.flatMap((series) => series.cells ?? []);
    const title = say(panel.title) || 'value';
    const rows = grid.length ? [[head(panel.x, 'x'), head(panel.y, 'y'), title]]
      : [['series', head(panel.x, 'x'), head(panel.y, title), 'low', 'high', 'label']];
    for (const [column, row, value] of grid) rows.push([named(panel.x, column), named(panel.y, row), value]);
    for (const series of panel.series) {
      (series.x ?? []).forEach((x, i) => rows.push([say(series.name), named(panel.x, x), named(panel.y, series.y[i]),
        ...(series.interval?.[i] ?? ['', '']), say(series.labels?.[i])]));
    }
    const is = (cell) => cell !== null && cell !== undefined && cell !== '';
    const used = rows[0].map((_, column) => rows.slice(1).some((row) => is(row[column])));
    // A text that a spreadsheet would take for a formula is none.
    const safe = (cell) => typeof cell === 'string' && /^[=+\-@\t]/.test(cell) ? `'${cell}` : String(cell ?? '');
    return rows.map((row) => row.filter((_, column) => used[column]).map((cell) => quoted(safe(cell))).join(',')).join('\n') + '\n';
  }

  // A text in lines of at most so many pixels, by what a letter takes at its size.
  function lines(text, width, letter) {
    const wide = (line) => [...line].reduce((sum, sign) => sum + (sign > '⁏' ? 1.8 : 1), 0) * letter;
    const out = [''];
    for (const word of text.split(/(?<=[ 、，。；：])/)) {
      if (out[out.length - 1] && wide(out[out.length - 1] + word.trimEnd()) > width) out.push('');
      out[out.length - 1] += word;
    }
    return out.map((line) => plain(line.trimEnd()));
  }

  // A chart as it is drawn, with its title above and its notes below: it may be looked at alone.
  function picture(plot, panel) {
    const figure = plot.closest('.figure');
    const words = (element) => element?.innerText.trim() ?? '';
    const width = plot.clientWidth;
    const parts = [words(plot.closest('.panel').querySelector('h3')), words(figure.querySelector('h2'))].filter(Boolean);
    // Both names on one line where they fit, else what the figure is called is the first of the notes.
    const fits = lines(parts.join(' · '), width - 20, 8.6).length === 1;
    const title = brief(fits ? parts.join(' · ') : parts[0], Math.floor((width - 20) / 8.6));
    const said = [...(fits ? [] : parts.slice(1)), ...words(figure.querySelector('.note')).split('\n')];
    const notes = said.filter(Boolean).flatMap((note) => lines(note, width - 20, 6.2));
    const {margin, annotations} = plot.layout;
    const [above, below] = [44, notes.length ? 16 * notes.length + 14 : 0];
    const look = page.themes[themeName()];
    const note = {text: notes.join('<br>'), showarrow: false, xref: 'paper', yref: 'paper', x: 0, y: 0, align: 'left',
      xanchor: 'left', yanchor: 'top', xshift: 10 - plot._fullLayout._size.l, yshift: -46, font: {size: 11, color: look.muted}};
    const height = plot.clientHeight + above + below;
    return {data: plot.data, layout: {...plot.layout,
      title: {text: title, x: 10 / width, xanchor: 'left', y: 1 - 10 / height, yanchor: 'top', font: {size: 15}},
      margin: {...margin, t: margin.t + above, b: margin.b + below}, annotations: [...annotations, ...(notes.length ? [note] : [])]},
    size: {width, height}};
  }

  function save(name, text, type) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function takeAlong(plot) {
    const panel = page.figures[plot.dataset.figure].panels[plot.dataset.panel];
    const name = `${plot.closest('.figure').id}-${Number(plot.dataset.panel) + 1}`;
    const ways = {
      png: () => {
        const {size, ...drawn} = picture(plot, panel);
        return Plotly.downloadImage(drawn, {format: 'png', scale: 2, filename: name, ...size});
      },
      csv: () => save(`${name}.csv`, table(panel), 'text/csv'),
    };
    const box = document.createElement('div');
    box.className = 'take';
    box.append(...Object.entries(ways).map(([way, take]) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.dataset.take = way;
      button.textContent = way.toUpperCase();
      button.addEventListener('click', take);
      return button;
    }));
    plot.before(box);
  }

  // What a screen reader says of a chart and of its buttons.
  const nameTakes = () => {
    // A chart is one picture, whatever it is drawn with; the library measures its words elsewhere.
    for (const part of document.querySelectorAll('.plot svg, #js-plotly-tester')) part.ariaHidden = 'true';
    for (const panel of document.querySelectorAll('.panel')) {
      const words = (element) => element?.innerText.trim();
      const name = [words(panel.closest('.figure')?.querySelector('h2')), words(panel.querySelector('h3'))].filter(Boolean).join(': ');
      const plot = panel.querySelector('[data-panel]');
      if (!plot) continue;
      Object.assign(plot, {role: 'img', ariaLabel: name});
      for (const button of panel.querySelectorAll('[data-take]')) {
        button.title = say(page.words[button.dataset.take]);
        button.ariaLabel = `${button.title}: ${name}`;
      }
    }
  };

  // Charts over one time axis are zoomed together.
  function linked(plot) {
    const figure = page.figures[plot.dataset.figure];
    if (!figure.stacked) return;
    const others = plots.filter((other) => other !== plot && other.dataset.figure === plot.dataset.figure);
    plot.on('plotly_relayout', (change) => {
      const from = change['xaxis.range[0]'], to = change['xaxis.range[1]'];
      const all = change['xaxis.autorange'];
      if (from === undefined && !all) return;
      for (const other of others) {
        const now = other.layout.xaxis;
        const same = all ? now.autorange : now.range[0] === from && now.range[1] === to;
        if (!same) Plotly.relayout(other, all ? {'xaxis.autorange': true}
          : {'xaxis.range[0]': from, 'xaxis.range[1]': to});
      }
    });
  }

  // Many curves over several panels have one legend above them all: in each panel it would take
  // the room of the curves.
  const MANY = 4;
  const namesOf = (figure) => {
    const named = new Map();
    for (const series of figure.panels.flatMap((panel) => panel.series)) {
      const name = plain(say(series.name));
      if (name && !named.has(name)) named.set(name, series.colour);
    }
    return named;
  };
  const sharesLegend = (figure) => figure.panels.length > 1 && namesOf(figure).size > MANY;

  function legends() {
    for (const panels of document.querySelectorAll('.panels')) {
      const first = panels.querySelector('[data-figure]');
      const figure = first && page.figures[first.dataset.figure];
      if (!figure || !sharesLegend(figure)) continue;
      const list = panels.querySelector('.legend') || document.createElement('div');
      list.className = 'legend';
      list.replaceChildren(...[...namesOf(figure)].map(([name, colour]) => {
        const button = document.createElement('button');
        const swatch = document.createElement('i');
        swatch.style.background = colourOf(page.themes[themeName()], colour);
        button.append(swatch, name);
        button.ariaPressed = String(!hidden(figure).has(name));
        button.addEventListener('click', () => {
          const names = hidden(figure);
          if (!names.delete(name)) names.add(name);
          redraw();
        });
        return button;
      }));
      panels.prepend(list);
    }
  }

  const redraw = () => {
    if (!window.Plotly) return;
    legends();
    nameTakes();
    plots.forEach(draw);
  };

  async function unpacked(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  }

  async function charts() {
    if (!plots.length) return;
    if (typeof DecompressionStream === 'undefined') {
      document.getElementById('no-charts').hidden = false;
      return;
    }
    const script = document.createElement('script');
    script.nonce = nonce;
    script.textContent = await unpacked('library');
    document.head.append(script);
    for (const panels of document.querySelectorAll('.panels.grid')) {
      if (panels.children.length === 1) panels.classList.add('single');
    }
    legends();
    for (const plot of plots) {
      await draw(plot);
      linked(plot);
      takeAlong(plot);
    }
    nameTakes();
    root.dataset.charts = plots.length;
  }

  // -- language and theme

  const speak = (word) => {
    root.dataset.lang = root.lang = word;
    document.title = document.querySelector('h1').innerText;
  };
  // What was chosen on one page holds for all of its site, where the browser keeps it.
  const kept = (name) => { try { return localStorage.getItem(`inferometer-${name}`); } catch { return null; } };
  const keep = (name, word) => { try { localStorage.setItem(`inferometer-${name}`, word); } catch { /* not kept */ } };
  if (['dark', 'light'].includes(kept('theme'))) theme = root.dataset.theme = kept('theme');
  // A language that nobody chose is the reader's, as far as the page has it.
  if (root.dataset.follow !== undefined) {
    const wanted = [kept('language'), ...navigator.languages.map((it) => it.slice(0, 2))];
    const known = wanted.find((it) => ['en', 'zh'].includes(it));
    if (known && known !== lang()) speak(known);
  }
  document.getElementById('language').addEventListener('click', () => {
    speak(lang() === 'en' ? 'zh' : 'en');
    keep('language', lang());
    redraw();
  });
  document.getElementById('theme').addEventListener('click', () => {
    theme = root.dataset.theme = themeName() === 'dark' ? 'light' : 'dark';
    keep('theme', theme);
    redraw();
  });
  dark.addEventListener('change', () => { if (!theme) redraw(); });
  addEventListener('beforeprint', () => {
    printing = true;
    document.querySelectorAll('.notes details').forEach((doubt) => { doubt.open = true; });
    root.dataset.theme = 'light';
    // The width of a sheet, so that charts are drawn for paper and not for the window.
    root.classList.add('paper');
    redraw();
  });
  addEventListener('afterprint', () => {
    printing = false;
    root.classList.remove('paper');
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    redraw();
  });

  // -- tables

  const shown = (cell) => cell.innerText.trim();
  const keyOf = (cell) => {
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const text = shown(cell);
    const parts = text.replace(/,/g, '').match(/^([+-]?\d[\d.]*)\s*(µs|ms|s|min|h|%|\*)?$/);
    if (!parts || Number.isNaN(Number(parts[1]))) return text;
    return Number(parts[1]) * (MILLISECONDS[parts[2]] ?? 1);
  };
  // Times of several units in one column.
  const MILLISECONDS = { 'µs': 1e-3, ms: 1, s: 1e3, min: 6e4, h: 3.6e6 };

  function sort(head) {
    const column = head.cellIndex, body = head.closest('table').tBodies[0];
    const sign = head.ariaSort === 'ascending' ? -1 : 1;
    for (const other of head.parentNode.cells) other.ariaSort = 'none';
    head.ariaSort = sign > 0 ? 'ascending' : 'descending';
    const rows = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
    // Numbers before words, whichever way the numbers run.
    rows.sort(([a], [b]) => {
      const words = (typeof a === 'string') - (typeof b === 'string');
      if (words) return words;
      return sign * (typeof a === 'string' ? a.localeCompare(b, lang(), { numeric: true }) : a - b);
    });
    body.append(...rows.map(([, row]) => row));
  }

  for (const head of document.querySelectorAll('th')) {
    head.addEventListener('click', () => sort(head));
    head.addEventListener('keydown', (event) => { if (event.key === 'Enter') sort(head); });
  }

  const cells = (table) => [...table.rows].map((row) => [...row.cells].map(shown));
  // For a spreadsheet: numbers unrounded and in one unit, which the head of the column says.
  const bare = (cell) => {
    const { value, high, unit } = cell.dataset;
    if (value !== undefined) return high === undefined ? value : `${value} – ${high}`;
    if (cell.querySelector('.absent')) return '';
    const text = shown(cell);
    return unit && !text.includes(unit) ? `${text} (${unit})` : text;
  };
  const formats = {
    command: (box) => box.querySelector('pre').textContent,
    csv: (box) => [...box.querySelector('table').rows].map((row) => [...row.cells].map(bare).map((text) =>
      quoted(text)).join(',')).join('\n') + '\n',
    markdown: (box) => {
      const table = box.querySelector('table');
      const rows = cells(table).map((row) =>
        `| ${row.map((text) => text.replace(/[\\|`*_<>[\]]/g, '\\$&').replace(/\s+/g, ' ')).join(' | ')} |`);
      const rule = [...table.rows[0].cells].map((cell) => cell.className === 'right' ? '--:' : ':--');
      rows.splice(1, 0, `| ${rule.join(' | ')} |`);
      return rows.join('\n') + '\n';
    },
  };

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
  }

  for (const button of document.querySelectorAll('[data-copy]')) {
    button.addEventListener('click', async () => {
      const before = button.textContent;
      await copy(formats[button.dataset.copy](button.closest('.table, .command')));
      button.textContent = say(page.words.copied);
      setTimeout(() => { button.textContent = before; }, 1200);
    });
  }

  document.getElementById('download').addEventListener('click', async () => {
    const numbers = document.getElementById('numbers');
    const text = numbers.type === 'application/gzip' ? await unpacked('numbers') : numbers.textContent;
    save('report.json', text, 'application/json');
  });

  charts().catch((error) => {
    document.getElementById('no-charts').hidden = false;
    console.error(error);
  });
})();
