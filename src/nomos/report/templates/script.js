// The page: which bugs are shown, in which order, and the links to them.

const AT_FIRST = 120; // cards on the page before anybody asks for more
const MORE = 24; // cards that a press of the button adds
const TYPING_MS = 120; // a search waits so long for the next letter

const lines = JSON.parse(document.getElementById('data').textContent);
const tools = document.querySelector('.tools');
const told = document.getElementById('told');
const controls = Object.fromEntries(['query', 'verdict', 'model', 'status', 'order'].map((id) => [id, document.getElementById(id)]));
const clear = tools.querySelector('[type=reset]');
const places = new Map(); // where each bug is, by its id
// Whole rows of three, few where many properties have some.
const firstCards = 3 * Math.max(1, Math.min(4, Math.floor(AT_FIRST / 3 / Math.max(1, lines.filter((line) => line.bugs.length).length))));

for (const line of lines) {
  line.section = document.getElementById(line.key);
  line.row = document.querySelector(`tr[data-key="${line.key}"]`);
  for (const part of ['cards', 'pinned', 'more', 'found']) line[part] = line.section.querySelector(`[data-${part}]`);
  line.texts = [];
  line.bugs.forEach((bug, at) => { if (!places.has(bug[0])) places.set(bug[0], [line, at]); });
  if (line.more) line.more.addEventListener('click', () => showMore(line));
}

function tell(message) {
  told.textContent = message;
}

// All that a bug says, as one text in small letters, made when it is first searched.
function searched(line, at) {
  if (line.texts[at] === undefined) {
    const [id, number, failed, , status, , parts] = line.bugs[at];
    const said = [line.name, line.model, id, 'case=' + number, line.failed[failed], status];
    for (const part of parts) said.push(...spoken(line.forms[part[0]], part.slice(1)));
    line.texts[at] = said.join('\n').toLowerCase();
  }
  return line.texts[at];
}

function spoken(form, part) {
  if (form.kind === 'fields') {
    return columns(part).flatMap((record) => record.map((value, at) => form.fields[at] + '=' + written(value)));
  }
  if (form.kind === 'scenes') return part.map((scene) => scene.caption);
  if (form.kind === 'images' || form.kind === 'sounds') return form.names;
  return form.names.map((name, at) => name + '=' + written(part[at]));
}

function changeCount(line, at) {
  let count = 0;
  for (const part of line.bugs[at][6]) {
    if (line.forms[part[0]].kind === 'fields') count += changedFields(part.slice(1)).size;
  }
  return count;
}

function matching(line, terms) {
  const chosen = [];
  for (let at = 0; at < line.bugs.length; at++) {
    const status = controls.status.value;
    if (status && line.bugs[at][4] !== status) continue;
    if (terms.every((term) => searched(line, at).includes(term))) chosen.push(at);
  }
  if (controls.order.value === 'seen') chosen.sort((a, b) => line.bugs[b][3] - line.bugs[a][3] || a - b);
  if (controls.order.value === 'changes') {
    const counts = new Map(chosen.map((at) => [at, changeCount(line, at)]));
    chosen.sort((a, b) => counts.get(a) - counts.get(b) || a - b);
  }
  return chosen;
}

function apply() {
  const terms = controls.query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const narrowed = terms.length > 0 || controls.status.value !== '';
  let [bugs, all] = [0, 0];
  const names = new Set();
  for (const line of lines) {
    const wanted = (!controls.verdict.value || line.verdict === controls.verdict.value)
      && (!controls.model.value || line.model === controls.model.value);
    line.chosen = wanted ? matching(line, terms) : [];
    const isShown = wanted && (!narrowed || line.chosen.length > 0);
    line.section.hidden = line.row.hidden = !isShown;
    [bugs, all] = [bugs + line.chosen.length, all + line.bugs.length];
    if (isShown) names.add(line.name);
    redraw(line);
  }
  clear.hidden = !Object.values(controls).some((control) => control.value !== (control === controls.order ? 'found' : ''));
  const properties = grouped(names.size) + (names.size === 1 ? ' property' : ' properties');
  const which = bugs === all ? counted(all, 'bug') : grouped(bugs) + ' of ' + counted(all, 'bug');
  tell(which + ' in ' + properties);
}

function redraw(line) {
  if (!line.cards) return;
  line.cards.replaceChildren();
  line.shown = 0;
  const count = line.chosen.length;
  line.found.textContent = count === line.bugs.length ? grouped(count) : grouped(count) + ' of ' + grouped(line.bugs.length);
  add(line, firstCards);
}

function add(line, count) {
  const pinned = line.pinned.firstElementChild && line.pinned.firstElementChild.id;
  const next = line.chosen.slice(line.shown, line.shown + count);
  line.cards.append(...next.filter((at) => 'bug-' + line.bugs[at][0] !== pinned).map((at) => card(line, line.bugs[at])));
  line.shown += next.length;
  const left = line.chosen.length - line.shown;
  line.more.hidden = left === 0;
  line.more.textContent = 'Show ' + grouped(Math.min(MORE, left)) + ' more of ' + grouped(left);
}

function showMore(line) {
  const before = line.cards.lastElementChild;
  add(line, MORE);
  const next = before ? before.nextElementSibling : line.cards.firstElementChild;
  if (next) next.focus({preventScroll: true});
}

// Show the bug of an address that ends with #bug-ID, wherever it is in the lists.
function follow() {
  const id = location.hash.startsWith('#bug-') ? location.hash.slice(5) : '';
  for (const old of document.querySelectorAll('.linked')) old.classList.remove('linked');
  if (!id) return;
  if (!places.has(id)) {
    tell('There is no bug ' + id + ' on this page.');
    return;
  }
  const [line, at] = places.get(id);
  line.section.hidden = line.row.hidden = false;
  let node = document.getElementById('bug-' + id);
  if (!node) {
    line.pinned.replaceChildren(card(line, line.bugs[at]));
    node = line.pinned.firstElementChild;
  }
  node.classList.add('linked');
  node.scrollIntoView({block: 'start'});
  node.focus({preventScroll: true});
}

function addOptions(select, values, said) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  for (const [value, count] of counts) {
    select.append(element('option', {value}, said(value) + ' (' + grouped(count) + ')'));
  }
  select.parentElement.hidden = counts.size < 2;
}

function sortOverview(button) {
  const head = button.closest('th');
  const down = head.getAttribute('aria-sort') === 'ascending';
  const body = head.closest('table').tBodies[0];
  const key = (row) => {
    const cell = row.cells[Number(button.dataset.sort)];
    const text = cell.dataset.value || cell.textContent;
    return button.dataset.as === 'number' ? parseFloat(text) || 0 : text.trim().toLowerCase();
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
  for (const other of head.parentElement.cells) other.setAttribute('aria-sort', 'none');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  body.append(...rows.map(([, row]) => row));
}

addOptions(controls.verdict, lines.map((line) => line.verdict), (verdict) => verdict.replace('-', ' '));
addOptions(controls.model, lines.map((line) => line.model), (model) => model.split('/').pop() || '-');
addOptions(controls.status, lines.flatMap((line) => line.bugs.map((bug) => bug[4])), (status) => status);
let typing = 0;
controls.query.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(apply, TYPING_MS);
});
for (const name of ['verdict', 'model', 'status', 'order']) controls[name].addEventListener('change', apply);
tools.addEventListener('submit', (event) => event.preventDefault());
tools.addEventListener('reset', () => setTimeout(apply));
for (const button of document.querySelectorAll('[data-sort]')) button.addEventListener('click', () => sortOverview(button));
addEventListener('hashchange', follow);
addEventListener('beforeprint', () => { for (const one of document.querySelectorAll('details')) one.open = true; });
tools.hidden = places.size === 0;
apply();
follow();
