'use strict';
(() => {
// Everything can be read without this script. It searches, sorts, shows the cards that
// are kept as text, copies commands and replays scenes.

const MORE = 24; // cards that a press of the button adds
const TYPING_MS = 120; // a search waits so long for the next letter
const STEPS_A_SECOND = 30;
const WIDE = 704; // pixels from which on specs are unfolded, if properties are few
const FEW = 6;

const tools = document.querySelector('.tools');
const told = document.getElementById('told');
const controls = Object.fromEntries(['query', 'verdict', 'model', 'status', 'order'].map((id) => [id, document.getElementById(id)]));
const clear = tools.querySelector('[type=reset]');
const lines = [...document.querySelectorAll('.property')].map((section) => {
  const part = (name) => section.querySelector('[data-' + name + ']');
  const [cards, later] = [part('cards'), part('later')];
  return {
    section, cards, more: part('more'), found: part('found'), pinned: part('pinned'),
    row: document.querySelector('tr[data-key="' + section.id + '"]'),
    ...section.dataset,
    rest: part('rest'),
    top: cards ? [...cards.children].filter((node) => node.matches('.card')).length : 0,
    first: cards ? [...cards.querySelectorAll('.card')] : [],
    later: later ? later.textContent.split('<hr>') : [],
    total: part('found') ? part('found').textContent : '',
    texts: [],
    shown: 0, // cards of those that were chosen, or else of those kept as text
  };
});
for (const line of lines) line.count = line.first.length + line.later.length;
const all = lines.reduce((sum, line) => sum + line.count, 0);

const grouped = (number) => number.toLocaleString('en');
const counted = (number, noun) => grouped(number) + ' ' + noun + (number === 1 ? '' : 's');
const tell = (message) => { told.textContent = message; };

function htmlOf(line, at) {
  return at < line.first.length ? line.first[at].outerHTML : line.later[at - line.first.length];
}

// All that a card says as one text in small letters; a cell of a table is field=value.
function textOf(line, at) {
  if (line.texts[at] === undefined) {
    const rows = htmlOf(line, at)
      .replace(/<img[^>]*>|<audio[^>]*>|<svg.*?<\/svg>/gs, '')
      .replace(/<wbr>/g, '')
      .replace(/<th scope="row">(.*?)<\/th>(.*?)<\/tr>/gs, (_, field, cells) => cells.replace(/<td>/g, ' ' + field + '='))
      .replace(/ =<\/dt> <dd>/g, '=')
      .replace(/<[^>]*>/g, ' ');
    const area = document.createElement('textarea'); // reads &lt; and the like
    area.innerHTML = line.name + ' ' + line.model + ' ' + rows;
    line.texts[at] = area.value.toLowerCase();
  }
  return line.texts[at];
}

function fact(line, at, name) {
  const found = htmlOf(line, at).match('data-' + name + '="([^"]*)"');
  return found ? found[1] : '';
}

function matching(line, terms) {
  const status = controls.status.value;
  const chosen = [];
  for (let at = 0; at < line.count; at++) {
    if (status && fact(line, at, 'status') !== status) continue;
    if (terms.every((term) => textOf(line, at).includes(term))) chosen.push(at);
  }
  const order = controls.order.value;
  if (order !== 'found') {
    const sign = order === 'changes' ? 1 : -1;
    const keys = new Map(chosen.map((at) => [at, sign * Number(fact(line, at, order))]));
    chosen.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
  }
  return chosen;
}

function apply() {
  const terms = controls.query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const narrowed = terms.length > 0 || controls.status.value !== '';
  const touched = narrowed || controls.order.value !== 'found';
  let bugs = 0;
  const names = new Set();
  for (const line of lines) {
    const wanted = (!controls.verdict.value || line.verdict === controls.verdict.value)
      && (!controls.model.value || line.model === controls.model.value);
    line.chosen = wanted && touched ? matching(line, terms) : null;
    const count = line.chosen ? line.chosen.length : wanted ? line.count : 0;
    const isShown = wanted && (!narrowed || count > 0);
    line.section.hidden = line.row.hidden = !isShown;
    if (isShown) names.add(line.name);
    bugs += count;
    redraw(line);
  }
  clear.hidden = !touched && !controls.verdict.value && !controls.model.value;
  const properties = grouped(names.size) + (names.size === 1 ? ' property' : ' properties');
  const which = bugs === all ? '' : grouped(bugs) + ' of ';
  tell(which + counted(all, 'bug') + ' on this page, in ' + properties);
}

function redraw(line) {
  if (!line.cards) return;
  line.shown = 0;
  line.cards.replaceChildren();
  if (line.chosen) {
    line.found.textContent = grouped(line.chosen.length) + ' of ' + line.total;
    add(line, MORE);
  } else {
    line.found.textContent = line.total;
    line.cards.append(...line.first.slice(0, line.top));
    if (line.rest) {
      line.rest.append(...line.first.slice(line.top));
      line.cards.append(line.rest);
    }
  }
  label(line);
}

// The numbers of the cards that a press of the button shows.
function waiting(line) {
  return line.chosen || line.later.map((_, at) => line.first.length + at);
}

function add(line, count) {
  const next = waiting(line).slice(line.shown, line.shown + count);
  for (const at of next) {
    if (at < line.first.length) line.cards.append(line.first[at]);
    else line.cards.insertAdjacentHTML('beforeend', htmlOf(line, at));
  }
  line.shown += next.length;
}

function label(line) {
  const left = waiting(line).length - line.shown;
  line.more.hidden = left === 0;
  line.more.textContent = 'Show ' + grouped(Math.min(MORE, left)) + ' more of ' + grouped(left);
}

function showMore(line) {
  const before = line.cards.lastElementChild;
  if (line.rest) line.rest.open = true;
  add(line, MORE);
  label(line);
  const next = before && before.nextElementSibling;
  if (next) next.querySelector('summary').focus({preventScroll: true});
}

// Show the bug of an address that ends with #bug-ID, wherever it is in the lists.
function follow() {
  const id = location.hash.startsWith('#bug-') ? location.hash.slice(1) : '';
  for (const old of document.querySelectorAll('.linked')) old.classList.remove('linked');
  if (!id) return;
  let node = document.getElementById(id);
  if (!node) {
    const mark = ' id="' + id + '"';
    const line = lines.find((one) => one.later.some((card) => card.includes(mark)));
    if (!line) {
      tell('There is no bug ' + id.slice(4) + ' on this page.');
      return;
    }
    line.pinned.innerHTML = line.later.find((card) => card.includes(mark));
    node = line.pinned.firstElementChild;
  }
  for (let at = node; at; at = at.parentElement) {
    if (at.tagName === 'DETAILS') at.open = true;
    at.hidden = false;
  }
  node.classList.add('linked');
  node.tabIndex = -1; // a browser that goes to an address focuses what can have it
  node.scrollIntoView({block: 'start'});
  node.focus({preventScroll: true});
}

function element(tag, attributes, text) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text || '';
  return node;
}

// An open card gets what only a script can do: buttons that copy, and the replay.
function unfolded(card) {
  if (card.querySelector('.actions')) return;
  const id = card.id.slice(4);
  const actions = element('div', {class: 'actions'});
  const link = () => location.href.split('#')[0] + '#bug-' + id;
  for (const [title, what] of [['Copy replay command', () => 'nomos replay ' + id], ['Copy link', link]]) {
    const button = element('button', {type: 'button', 'aria-label': title + ' of bug ' + id}, title);
    button.addEventListener('click', () => copy(what(), button, title));
    actions.append(button);
  }
  card.querySelector('.inside').append(actions);
  const scenes = card.querySelector('.scenes');
  if (scenes) scenes.after(player([...scenes.querySelectorAll('svg')]));
}

async function copy(text, button, title) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    tell('Copied: ' + text);
  } catch (error) {
    tell('Not copied: ' + error.message);
  }
  setTimeout(() => { button.textContent = title; }, 1500);
}

function player(drawings) {
  const stages = drawings.map((svg) => {
    const [flown, body] = [svg.querySelector('.flown'), svg.querySelector('.body')];
    const numbers = flown.dataset.path.split(' ').map(Number);
    return {flown, body, numbers, places: flown.getAttribute('points').split(' ')};
  });
  const last = Math.max(0, ...stages.map((stage) => stage.places.length - 1));
  const box = element('div', {class: 'player'});
  const button = element('button', {type: 'button', 'aria-pressed': 'false'}, '▶ Replay');
  const slider = element('input', {type: 'range', min: 0, max: last, value: last, 'aria-label': 'step of the replay'});
  const said = element('span', {class: 'quiet'});
  let timer = 0;
  const set = (step) => {
    slider.value = step;
    said.textContent = 'step ' + step + ' of ' + last;
    for (const stage of stages) {
      const at = Math.min(step, stage.places.length - 1);
      stage.flown.setAttribute('points', stage.places.slice(0, at + 1).join(' '));
      const [x, y, angle] = stage.numbers.slice(3 * at, 3 * at + 3);
      stage.body.setAttribute('transform', `translate(${x} ${y}) rotate(${(angle * 180 / Math.PI).toFixed(1)})`);
    }
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
  box.append(button, slider, said);
  return box;
}

function addOptions(select, values, said) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  for (const [value, count] of counts) select.append(element('option', {value}, said(value) + ' (' + grouped(count) + ')'));
  select.parentElement.hidden = counts.size < 2;
}

function sortOverview(button) {
  const head = button.closest('th');
  const down = head.getAttribute('aria-sort') === 'ascending';
  const body = head.closest('table').tBodies[0];
  const texts = [...body.rows].map((row) => row.cells[Number(button.dataset.sort)])
    .map((cell) => cell.dataset.value || cell.textContent.trim().toLowerCase());
  const numbers = texts.map((text) => parseFloat(text.replaceAll(',', '')));
  const keys = numbers.some(Number.isNaN) ? texts : numbers;
  const rows = [...body.rows].map((row, at) => [keys[at], row]);
  rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
  for (const other of head.parentElement.cells) other.setAttribute('aria-sort', 'none');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  body.append(...rows.map(([, row]) => row));
}

addOptions(controls.verdict, lines.map((line) => line.verdict), (verdict) => verdict.replace('-', ' '));
addOptions(controls.model, lines.map((line) => line.model), (model) => model.split('/').pop() || '-');
let typing = 0;
controls.query.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(apply, TYPING_MS);
});
for (const name of ['verdict', 'model', 'status', 'order']) controls[name].addEventListener('change', apply);
tools.addEventListener('submit', (event) => event.preventDefault());
tools.addEventListener('reset', () => setTimeout(apply));
for (const button of document.querySelectorAll('[data-sort]')) button.addEventListener('click', () => sortOverview(button));
for (const line of lines) {
  if (!line.cards) continue;
  line.more.addEventListener('click', () => showMore(line));
  label(line);
}
document.addEventListener('toggle', (event) => {
  if (event.target.classList.contains('card') && event.target.open) unfolded(event.target);
}, true);
for (const card of document.querySelectorAll('.card[open]')) unfolded(card);
if (innerWidth >= WIDE && lines.length <= FEW) for (const about of document.querySelectorAll('.about')) about.open = true;
addEventListener('hashchange', follow);
addEventListener('beforeprint', () => { for (const one of document.querySelectorAll('.about, .card')) one.open = true; });
tools.hidden = all === 0;
apply();
follow();
})();
