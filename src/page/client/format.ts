import type { Cost } from '../app/connections.ts';

// Numbers and times in words, in the way the browser's language writes them.

export function count(value: number): string {
  return value.toLocaleString();
}

/** `12 cells`: a count, and the word that goes with it. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function rate(perSecond: number): string {
  const digits = perSecond < 10 ? 1 : 0;
  return `${perSecond.toLocaleString(undefined, { maximumFractionDigits: digits })}/s`;
}

export function duration(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 950) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return ms < 9_950 ? `${(ms / 1_000).toFixed(1)} s` : `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? `${hours} h ${minutes % 60} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `68 %`, `0.4 %`, `< 0.1 %`. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const of = (part / whole) * 100;
  if (of > 0 && of < 0.1) return '< 0.1 %';
  const digits = of > 0 && of < 10 ? 1 : 0;
  return `${of.toLocaleString(undefined, { maximumFractionDigits: digits })} %`;
}

/** In the time zone of the viewer. */
export function time(when: number | string): string {
  const date = new Date(when);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString();
}

/** Of a file, in the units that most file managers have. */
export function size(bytes: number): string {
  const [unit, divisor] =
    bytes < 1_000
      ? (['byte', 1] as const)
      : bytes < 1_000_000
        ? (['kilobyte', 1_000] as const)
        : (['megabyte', 1_000_000] as const);
  const digits = divisor > 1 && bytes / divisor < 10 ? 1 : 0;
  const options = { style: 'unit', unit, maximumFractionDigits: digits } as const;
  return new Intl.NumberFormat(undefined, options).format(bytes / divisor);
}

/** What it costs, in words; undefined when nothing is known of it. */
export function costOf({ units, unit, money }: Cost): string | undefined {
  const billed =
    units === undefined
      ? []
      : [`${units.toLocaleString(undefined, { maximumFractionDigits: 6 })} ${unit ?? 'units'}`];
  // In the currency of whoever gave the price.
  const parts = [...billed, ...(money === undefined ? [] : [moneyOf(money)])];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** An amount of money without a sign: the price was given without one. */
export function moneyOf(value: number): string {
  const digits = value !== 0 && Math.abs(value) < 0.1 ? 4 : 2;
  const options = { minimumFractionDigits: 2, maximumFractionDigits: digits };
  return value.toLocaleString(undefined, options);
}
