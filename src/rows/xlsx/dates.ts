/** The meaning of numbers with a format. */
export type NumberKind = 'number' | 'date' | 'date-time' | 'time' | 'duration';

const DAY_MS = 86_400_000;
/** 9999-12-31, the last day that a sheet knows. */
const MOST_DAYS = 2_958_466;
/** Formats that need no definition. */
const BUILT_IN: Readonly<Record<number, NumberKind>> = {
  14: 'date',
  15: 'date',
  16: 'date',
  17: 'date',
  18: 'time',
  19: 'time',
  20: 'time',
  21: 'time',
  22: 'date-time',
  45: 'duration',
  46: 'duration',
  47: 'duration',
};

/** The kind of a format's numbers: for a built-in format by its number, else by its code. */
export function kindOfFormat(id: number, code: string | undefined): NumberKind {
  if (code === undefined) {
    // Dates of East Asian calendars.
    return BUILT_IN[id] ?? ((id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? 'date' : 'number');
  }
  const [bare = ''] = code.replaceAll(/"[^"]*"|\\.|_.|\*./g, '').split(';');
  if (/\[(?:h+|m+|s+)\]/i.test(bare)) return 'duration';
  const tokens = bare.replaceAll(/\[[^\]]*\]|general|am\/pm|a\/p/gi, '').toLowerCase();
  const hasTime = /[hs]/.test(tokens);
  const hasDate = /[yd]/.test(tokens) || (tokens.includes('m') && !hasTime);
  if (hasDate) return hasTime ? 'date-time' : 'date';
  return hasTime ? 'time' : 'number';
}

/**
 * A date of a sheet as text: `2024-03-01`, `2024-03-01T09:30:00`, `09:30:00`, or `26:30:00` for a
 * duration. Sheets know no time zones. Undefined for a number that is no date.
 *
 * @param serial days since the beginning of 1900, or of 1904
 */
export function dateText(
  serial: number,
  { kind, is1904 }: { readonly kind: NumberKind; readonly is1904: boolean },
): string | undefined {
  if (kind === 'number' || !(serial >= 0) || serial >= MOST_DAYS) return undefined;
  if (kind === 'duration') return durationText(Math.round(serial * DAY_MS));
  const ms = Math.round(serial * DAY_MS);
  const hasTime = ms % DAY_MS !== 0;
  if (kind === 'time' && serial < 1) return timeOf(new Date(ms));
  const moment = new Date(epochMs(serial, is1904) + ms);
  const day = moment.toISOString().slice(0, 10);
  return kind === 'date' && !hasTime ? day : `${day}T${timeOf(moment)}`;
}

/** Day 60 of the first calendar is the 29th of February 1900, which never existed. */
function epochMs(serial: number, is1904: boolean): number {
  if (is1904) return Date.UTC(1904, 0, 1);
  return Date.UTC(1899, 11, serial < 60 ? 31 : 30);
}

function timeOf(moment: Date): string {
  const text = moment.toISOString();
  return text.endsWith('.000Z') ? text.slice(11, 19) : text.slice(11, 23);
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
