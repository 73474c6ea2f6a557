// Elements and texts. Nothing here makes HTML from text: values become text nodes only.

const SVG = 'http://www.w3.org/2000/svg';
const LONGEST_DIFF = 1200; // words on each side; the table below has their product

// The same as in html_text.py, plus halves of pairs.
const ODD = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Cs}/gu;

function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawing(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children);
  return node;
}

// A text as nodes, with what cannot be seen named by its code.
function plain(text) {
  const nodes = [];
  let at = 0;
  for (const odd of text.matchAll(ODD)) {
    if (odd.index > at) nodes.push(text.slice(at, odd.index));
    const code = odd[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    nodes.push(element('span', {class: 'odd'}, 'U+' + code));
    at = odd.index + odd[0].length;
  }
  nodes.push(text.slice(at));
  return nodes;
}

function grouped(number) {
  return number.toLocaleString('en');
}

function counted(number, noun) {
  return grouped(number) + ' ' + noun + (number === 1 ? '' : 's');
}

// What is written for a value; a cut text is [text, from, length].
function written(value, exact) {
  if (Array.isArray(value)) return value[0];
  if (typeof value !== 'number' || Number.isInteger(value) || exact) return String(value);
  return String(parseFloat(value.toPrecision(6)));
}

function shownValue(value, before, exact) {
  const text = written(value, exact);
  if (text === '' && !before) return [element('span', {class: 'cut'}, 'empty')];
  const isChange = before !== undefined && typeof before !== 'number' && typeof value !== 'number';
  const nodes = isChange ? marked(written(before), text) : plain(text);
  if (!Array.isArray(value)) return nodes;
  const [kept, from, length] = value;
  if (from) {
    const where = '… from character ' + grouped(from + 1) + ' of ' + grouped(length) + ': ';
    nodes.unshift(element('span', {class: 'cut'}, where));
  }
  if (from + kept.length < length) {
    nodes.push(element('span', {class: 'cut'}, ' … of ' + grouped(length) + ' characters'));
  }
  return nodes;
}

// A text with what was added and removed marked; as it is where little is shared.
function marked(before, after) {
  const [old, now] = [before, after].map((text) => text.match(/\s*\S+|\s+$/g) || []);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const gone = old.slice(start, old.length - end);
  const come = now.slice(start, now.length - end);
  const middle = difference(gone, come);
  const kept = start + end + middle.filter(([kind]) => kind === '').length;
  if (kept * 3 < Math.max(old.length, now.length) && old.length) return plain(after);
  const nodes = plain(now.slice(0, start).join(''));
  for (const [tag, text] of runs(middle)) {
    const [space] = text.match(/^\s*/);
    if (tag) nodes.push(space, element(tag, {}, ...plain(text.slice(space.length))));
    else nodes.push(...plain(text));
  }
  nodes.push(...plain(now.slice(now.length - end).join('')));
  return nodes;
}

// Words kept, removed and added, by the longest common subsequence.
function difference(old, now) {
  if (old.length > LONGEST_DIFF || now.length > LONGEST_DIFF) {
    return [...old.map((word) => ['del', word]), ...now.map((word) => ['ins', word])];
  }
  const width = now.length + 1;
  const shared = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      shared[i * width + j] = old[i] === now[j]
        ? shared[(i + 1) * width + j + 1] + 1
        : Math.max(shared[(i + 1) * width + j], shared[i * width + j + 1]);
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      steps.push(['', now[j]]);
      i++;
      j++;
    } else if (j === now.length || (i < old.length && shared[(i + 1) * width + j] >= shared[i * width + j + 1])) {
      steps.push(['del', old[i++]]);
    } else {
      steps.push(['ins', now[j++]]);
    }
  }
  return steps;
}

function runs(steps) {
  const joined = [];
  for (const [tag, word] of steps) {
    const last = joined[joined.length - 1];
    if (last && last[0] === tag) last[1] += word;
    else joined.push([tag, word]);
  }
  return joined;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No permission, or no secure page: as it was done before there were permissions.
    const area = element('textarea', {'aria-hidden': 'true', class: 'hidden'});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    if (!done) throw new Error('the browser does not let this page copy');
  }
}
