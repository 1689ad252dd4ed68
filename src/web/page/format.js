// Numbers and times in words, written as the browser's language writes them.

/** @param {number} value */
export function count(value) {
  return value.toLocaleString();
}

/**
 * What is paid, with as many places as a price may have.
 *
 * @param {number} units
 * @param {string} unit
 */
export function amount(units, unit) {
  return `${units.toLocaleString(undefined, { maximumFractionDigits: 6 })} ${unit}`;
}

/**
 * @param {number} amount
 * @param {string} noun
 */
export function counted(amount, noun) {
  return `${count(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}

/** @param {number} perSecond */
export function rate(perSecond) {
  const digits = perSecond < 10 ? 1 : 0;
  return `${perSecond.toLocaleString(undefined, { maximumFractionDigits: digits })}/s`;
}

/** @param {number} ms */
export function duration(ms) {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * The share that is done, rounded down: it is 100 % only when nothing is left.
 *
 * @param {number} done
 * @param {number} all
 */
export function percent(done, all) {
  return all === 0 ? '100 %' : `${Math.floor((done / all) * 100)} %`;
}

/**
 * In the time zone of the viewer.
 *
 * @param {number | string} when
 */
export function time(when) {
  const date = new Date(when);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString();
}
