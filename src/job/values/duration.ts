import { BrandfillError } from '../../common/errors.ts';

const UNIT_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ms: 1,
    s: 1_000,
    min: 60_000,
    m: 60_000,
    h: 3_600_000,
    d: 86_400_000,
    w: 604_800_000,
  }),
);

/**
 * Reads a duration such as `250ms`, `60s`, `10min`, `12h`, `30d` or `2w` as whole milliseconds.
 * `0` needs no unit.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else.
 */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(text.trim());
  const unitMs =
    match && (match[2] === '' && Number(match[1]) === 0 ? 1 : UNIT_MS.get(match[2] ?? ''));
  if (!match || unitMs === undefined || unitMs === null) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `expected a duration such as 500ms, 60s, 10min, 12h or 30d, received '${text}'`,
    );
  }
  // 16.1 times a thousand is 16100.000000000002, which Redis refuses as a time.
  return Math.round(Number(match[1]) * unitMs);
}

/** Writes milliseconds as a user types them, in whole days, hours … but no weeks: `1s`, `24d`. */
export function typedDuration(ms: number): string {
  for (const unit of ['d', 'h', 'min', 's']) {
    const unitMs = UNIT_MS.get(unit) ?? 1;
    if (ms >= unitMs) return `${Math.floor(ms / unitMs)}${unit}`;
  }
  return `${ms}ms`;
}

/** Writes milliseconds for people: `850 ms`, `12 s`, `4 min 10 s`, `3 h 5 min`, `30 d`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

/** Writes bytes for people: `512 B`, `1.2 MB`, `34 GB`; a MB is a million bytes. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value.toFixed(unit > 0 && value < 9.95 ? 1 : 0)} ${UNITS[unit]}`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];
