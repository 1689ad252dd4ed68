// Makes and changes elements. Texts from outside become text, never markup.

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {{ [attribute: string]: string }} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes))
    element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}

/**
 * Does not touch an element that shows the text already, so that nothing flickers and no screen reader
 * repeats it.
 *
 * @param {Node} element
 * @param {string} text
 */
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no ${id}.`);
  return found;
}

/**
 * A table for people who see it and for people who hear it. On a narrow screen it scrolls on its own.
 *
 * @param {string} caption
 * @param {readonly string[]} columns
 * @param {readonly (readonly (string | Node)[])[]} rows
 * @returns {HTMLElement}
 */
export function table(caption, columns, rows) {
  const head = columns.map((column) => make('th', { scope: 'col' }, column));
  const body = rows.map(([first = '', ...rest]) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, first),
      ...rest.map((cell) => make('td', {}, cell)),
    ),
  );
  const made = make(
    'table',
    {},
    make('caption', {}, caption),
    make('thead', {}, make('tr', {}, ...head)),
    make('tbody', {}, ...body),
  );
  return make('div', { class: 'wide', role: 'region', 'aria-label': caption, tabindex: '0' }, made);
}

/**
 * Shows a table in the place of an earlier one. What scrolls stays, so that a table that changes twice
 * a second can be read on a narrow screen, and keeps the focus. A button that can no longer be pressed
 * passes the focus on.
 *
 * @param {HTMLElement} place
 * @param {HTMLElement} made by `table`
 */
export function showTable(place, made) {
  const region = place.firstElementChild;
  if (!region) {
    place.append(made);
    return;
  }
  const focused = document.activeElement;
  const hadFocus = focused !== region && region.contains(focused);
  region.replaceChildren(...made.childNodes);
  if (!hadFocus) return;
  const buttons = [...region.querySelectorAll('button')];
  const same = buttons.find(
    (button) => button.ariaLabel === focused?.ariaLabel && !button.disabled,
  );
  (same ?? /** @type {HTMLElement} */ (region)).focus();
}
