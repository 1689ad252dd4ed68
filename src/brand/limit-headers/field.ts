import type { ServerClock } from './server-clock.ts';
import type { WindowFinder } from './window-finder.ts';

/** A header as an HTTP client returns it. Several lines of one name are a list. */
export type FieldValue = string | readonly string[] | undefined;

/** When an answer came, by our clock and by the server's. */
export interface AnswerTime {
  readonly nowMs: number;
  /** The answer's `Date`. */
  readonly date: string | undefined;
  /** When the call was sent, by our clock. @default `nowMs` */
  readonly sentMs?: number;
  /** The server's clock, as far as it is known. @default only this answer's `Date` */
  readonly clock?: ServerClock;
  /** Finds the windows of the server's limits. @default windows are not looked for */
  readonly windows?: WindowFinder;
}

/** A server may send a field of any length. No more than this is read. */
const LONGEST_FIELD = 4_096;
export const MOST_MEMBERS = 100;

/** All lines of a field as one. A text that is too long is cut between two members. */
export function fieldText(value: FieldValue): string {
  const text = typeof value === 'string' ? value : joined(value ?? []);
  if (text.length <= LONGEST_FIELD) return text;
  const end = text.lastIndexOf(',', LONGEST_FIELD);
  return text.slice(0, end > 0 ? end : LONGEST_FIELD);
}

/** The members of a field that is not structured. */
export function membersOf(text: string): readonly string[] {
  if (!text.includes(',')) return [text.trim()];
  return text.split(',', MOST_MEMBERS).map((member) => member.trim());
}

/** Joins lines up to the length that is read. */
function joined(lines: readonly string[]): string {
  let text = '';
  for (const line of lines) {
    text += text === '' ? line : `, ${line}`;
    if (text.length > LONGEST_FIELD) break;
  }
  return text;
}
