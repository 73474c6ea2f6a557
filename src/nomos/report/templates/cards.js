// A card for a bug: each of its parts is drawn by what kind of record it shows.

const MOST_ROWS = 16; // of a table before the rows that are the same are folded
const STEPS_A_SECOND = 30;

const PARTS = {fields, values, words, undrawn, images, sounds, scenes};
const WIDE = new Set(['words', 'sounds', 'scenes']);

function card(line, bug) {
  const [id, number, failed, seen, status, seed, parts] = bug;
  const kinds = parts.map((part) => line.forms[part[0]].kind);
  const isWide = kinds.some((kind) => WIDE.has(kind)) || parts.some((part) => hasLongText(line, part));
  const facts = ['case ' + grouped(number)];
  if (line.seeds > 1) facts.push('seed ' + seed);
  if (seen > 1) facts.push('met ' + grouped(seen) + ' times');
  const node = element('li', {class: isWide ? 'card wide' : 'card', id: 'bug-' + id, tabindex: -1, 'aria-label': 'bug ' + id});
  node.append(
    element('header', {},
      element('h4', {}, element('a', {href: '#bug-' + id, title: 'link to this bug'}, id)),
      ...(status ? [element('span', {class: 'tag ' + status}, status)] : []),
      element('span', {class: 'quiet'}, facts.join(' · '))),
    element('p', {class: 'broken'}, element('code', {}, ...plain(line.failed[failed])), status === 'fixed' ? ' did not hold' : ' does not hold'));
  // What came out stands beside what should have: the outputs come first.
  const isOutput = (part) => line.forms[part[0]].of === 'outputs' && line.forms[part[0]].kind === 'values';
  for (const part of [...parts.filter(isOutput), ...parts.filter((part) => !isOutput(part))]) {
    const form = line.forms[part[0]];
    const shown = PARTS[form.kind](form, part.slice(1), id);
    // What is drawn already is rarely read as numbers.
    const folded = form.kind === 'fields' && kinds.includes('scenes');
    node.append(folded ? element('details', {}, element('summary', {}, 'In numbers'), shown) : shown);
  }
  if (!parts.length) {
    node.append(element('p', {class: 'quiet'}, 'There was no room for its values: ', element('code', {}, 'nomos show ' + id)));
  }
  node.append(element('div', {class: 'actions'},
    copyButton('Copy replay command', 'nomos replay ' + id, id),
    copyButton('Copy link', () => location.href.split('#')[0] + '#bug-' + id, id)));
  return node;
}

function copyButton(label, what, id) {
  const button = element('button', {type: 'button', 'aria-label': label + ' of bug ' + id}, label);
  button.addEventListener('click', async () => {
    try {
      await copy(typeof what === 'string' ? what : what());
      button.textContent = 'Copied';
      tell('Copied: ' + (typeof what === 'string' ? what : 'link to bug ' + id));
    } catch (error) {
      tell('Not copied: ' + error.message);
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

function hasLongText(line, part) {
  if (line.forms[part[0]].kind !== 'fields') return false;
  return part.slice(1).flat().some((value) => Array.isArray(value) || (typeof value === 'string' && value.length > 60));
}

// Records as columns: [values of the first, [field, value, field, value…] of each other].
function columns(part) {
  const [first, ...others] = part;
  return [first, ...others.map((changes) => {
    const values = [...first];
    for (let at = 0; at < changes.length; at += 2) values[changes[at]] = changes[at + 1];
    return values;
  })];
}

function changedFields(part) {
  const changed = new Set();
  for (const changes of part.slice(1)) {
    for (let at = 0; at < changes.length; at += 2) changed.add(changes[at]);
  }
  return changed;
}

function fields(form, part) {
  const records = columns(part);
  const changed = changedFields(part);
  const body = element('tbody', {});
  const same = [];
  form.fields.forEach((field, at) => {
    const row = fieldRow(field, records.map((record) => record[at]), changed.has(at));
    if (!changed.has(at)) same.push(row);
    body.append(row);
  });
  const table = element('table', {},
    element('thead', {}, element('tr', {}, element('td', {}),
      ...form.names.map((name) => element('th', {scope: 'col'}, ...plain(name))))),
    body);
  const box = element('div', {class: 'scroll'}, table);
  if (form.left) box.append(element('p', {class: 'quiet'}, counted(form.left, 'more field')));
  if (changed.size && form.fields.length > MOST_ROWS) box.append(fold(same));
  return box;
}

// A row of a table; what all records share is said once.
function fieldRow(field, values, isChanged) {
  const head = element('th', {scope: 'row'}, ...breakable(field));
  if (!isChanged) {
    return element('tr', {class: 'same'}, head, element('td', {colspan: values.length}, ...shownValue(values[0])));
  }
  head.append(element('span', {class: 'hidden'}, ' (differs)'));
  const exact = new Set(values.map((value) => written(value))).size === 1;
  const cells = values.map((value, at) => {
    const differs = at > 0 && JSON.stringify(value) !== JSON.stringify(values[0]);
    const isText = typeof value === 'string' ? value.length > 24 : Array.isArray(value);
    const before = differs && isText ? values[0] : undefined;
    return element('td', {class: differs && !isText ? 'differs' : null}, ...shownValue(value, before, exact));
  });
  return element('tr', {class: 'changed'}, head, ...cells);
}

// The name of a field, which may go to the next line after an underscore.
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((piece) => [...plain(piece), element('wbr', {})]);
}

function fold(rows) {
  const label = () => (rows[0].hidden ? 'and ' + grouped(rows.length) + ' that are the same' : 'only what differs');
  const button = element('button', {type: 'button', class: 'toggle', 'aria-expanded': 'false'});
  const set = (hidden) => {
    for (const row of rows) row.hidden = hidden;
    button.setAttribute('aria-expanded', String(!hidden));
    button.textContent = label();
  };
  if (!rows.length) return '';
  set(true);
  button.addEventListener('click', () => set(!rows[0].hidden));
  return button;
}

function values(form, part) {
  const list = element('dl', {class: 'values ' + form.of}, ...form.names.map((name, at) =>
    element('div', {}, element('dt', {}, ...plain(name), ' = '), element('dd', {}, ...shownValue(part[at])))));
  return form.by ? element('div', {class: 'by'}, element('span', {}, form.by), list) : list;
}

function words(form, part) {
  return element('dl', {class: 'words'}, ...form.names.flatMap((name, at) => [
    element('dt', {}, ...plain(name)),
    element('dd', {}, ...shownValue(part[at], at ? part[0] : undefined))]));
}

function undrawn(form, part, id) {
  return element('div', {},
    values({names: form.names, of: ''}, part),
    element('p', {class: 'quiet'}, 'Not drawn here: ', element('code', {}, 'nomos show ' + id + ' -o FOLDER')));
}

function images(form, part) {
  return element('div', {class: 'pictures'}, ...part.map(([png, width, height, most], at) => {
    const name = form.names[at];
    const caption = most === null ? name : name + ', up to ' + most;
    const alt = most === null ? 'image ' + name : name + ' of the images';
    const image = element('img', {src: 'data:image/png;base64,' + png, width, height, alt, loading: 'lazy', decoding: 'async'});
    return element('figure', {}, image, element('figcaption', {}, ...plain(caption)));
  }));
}

function sounds(form, part) {
  return element('div', {class: 'sounds'}, ...part.map((sound, at) => soundFigure(form.names[at], sound)));
}

function soundFigure(name, sound) {
  const audio = element('audio', {src: 'data:audio/wav;base64,' + sound.wav, preload: 'none'});
  const button = element('button', {type: 'button', 'aria-pressed': 'false', 'aria-label': 'Play ' + name}, '▶ Play');
  const head = element('span', {class: 'head', hidden: true});
  const wave = element('div', {class: 'wave'}, waveform(sound.wave, name), head);
  const [png, width, height] = sound.picture;
  const image = element('img', {src: 'data:image/png;base64,' + png, width, height, alt: 'spectrogram of ' + name, loading: 'lazy'});
  const move = () => {
    head.style.left = (audio.duration ? 100 * audio.currentTime / audio.duration : 0) + '%';
    if (!audio.paused) requestAnimationFrame(move);
  };
  const mark = () => {
    head.hidden = false;
    button.textContent = audio.paused ? '▶ Play' : '❚❚ Pause';
    button.setAttribute('aria-pressed', String(!audio.paused));
    move();
  };
  for (const change of ['play', 'pause', 'ended']) audio.addEventListener(change, mark);
  audio.addEventListener('error', () => tell('The sound ' + name + ' cannot be played here.'));
  button.addEventListener('click', () => (audio.paused ? audio.play().catch(() => {}) : audio.pause()));
  const length = sound.seconds + ' s at ' + grouped(sound.rate) + ' Hz' + (sound.cut ? ', the beginning' : '');
  return element('figure', {}, wave, image,
    element('figcaption', {}, button, element('span', {}, ...plain(name), ' · ' + length), audio));
}

function waveform(wave, name) {
  const points = [];
  for (let at = 0; at < wave.length; at += 2) points.push(at / 2 + ',' + -wave[at + 1]);
  for (let at = wave.length - 2; at >= 0; at -= 2) points.push(at / 2 + ',' + -wave[at]);
  return drawing('svg', {viewBox: '0 -100 ' + wave.length / 2 + ' 200', preserveAspectRatio: 'none', role: 'img', 'aria-label': 'waveform of ' + name},
    drawing('polygon', {points: points.join(' '), fill: 'currentColor', stroke: 'currentColor', 'vector-effect': 'non-scaling-stroke'}));
}

function scenes(form, part) {
  const stages = part.map((scene, at) => stage(form.names[at], scene));
  const last = Math.max(0, ...stages.map((one) => one.last));
  const slider = element('input', {type: 'range', min: 0, max: last, value: last, 'aria-label': 'step of the replay'});
  const button = element('button', {type: 'button', 'aria-pressed': 'false'}, '▶ Replay');
  const said = element('span', {class: 'quiet'});
  let timer = 0;
  const set = (step) => {
    slider.value = step;
    said.textContent = 'step ' + step + ' of ' + last;
    for (const one of stages) one.set(Math.min(step, one.last));
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    button.textContent = '▶ Replay';
    button.setAttribute('aria-pressed', 'false');
  };
  const play = () => {
    if (Number(slider.value) >= last) set(0);
    button.textContent = '❚❚ Pause';
    button.setAttribute('aria-pressed', 'true');
    timer = setInterval(() => {
      const step = Number(slider.value) + 1;
      if (step > last || !button.isConnected) stop();
      else set(step);
    }, 1000 / STEPS_A_SECOND);
  };
  button.addEventListener('click', () => (timer ? stop() : play()));
  slider.addEventListener('input', () => { stop(); set(Number(slider.value)); });
  set(last);
  return element('div', {},
    element('div', {class: 'scenes'}, ...stages.map((one) => one.figure)),
    element('div', {class: 'player'}, button, slider, said));
}

// One scene: y goes up in it, and down in a drawing.
function stage(name, scene) {
  const {width, height, path} = scene;
  const size = Math.max(width, height) / 40;
  const points = (numbers, every) => {
    const pairs = [];
    for (let at = 0; at + 1 < numbers.length; at += every) pairs.push(numbers[at] + ',' + numbers[at + 1]);
    return pairs;
  };
  const thin = {'vector-effect': 'non-scaling-stroke'};
  const places = points(path, 3);
  const flown = drawing('polyline', {class: 'flown', ...thin});
  const body = drawing('path', {class: 'body', d: `M0 ${size}L${0.8 * size} ${-0.8 * size}L0 ${-0.4 * size}L${-0.8 * size} ${-0.8 * size}Z`, ...thin});
  const group = drawing('g', {transform: `translate(0 ${height}) scale(1 -1)`},
    ...scene.lines.map((line) => drawing('polyline', {class: 'ground', points: points(line, 2).join(' '), ...thin})),
    drawing('polyline', {class: 'trail', points: places.join(' '), ...thin}), flown, body);
  const view = drawing('svg', {viewBox: `${-size} ${-size} ${width + 2 * size} ${height + 2 * size}`, role: 'img', 'aria-label': name + (scene.caption ? ': ' + scene.caption : '')}, group);
  const kept = places.length < scene.steps ? ' · every ' + Math.round(scene.steps / places.length) + '. of ' + grouped(scene.steps) + ' steps' : '';
  const caption = [name, scene.caption].filter(Boolean).join(' · ') + kept;
  const set = (step) => {
    flown.setAttribute('points', places.slice(0, step + 1).join(' '));
    const [x, y, angle] = path.slice(3 * step, 3 * step + 3);
    if (x !== undefined) body.setAttribute('transform', `translate(${x} ${y}) rotate(${angle * 180 / Math.PI})`);
  };
  return {figure: element('figure', {}, view, element('figcaption', {}, ...plain(caption))), last: Math.max(0, places.length - 1), set};
}
