import type { ServerClock } from './server-clock.ts';
import type { WindowFinder } from './window-finder.ts';

/** A header as an HTTP client gives it: several lines of one name come as a list. */
export type FieldValue = string | readonly string[] | undefined;

/** When an answer came, by our clock and by its own. */
export interface AnswerTime {
  readonly nowMs: number;
  /** The answer's `Date`. */
  readonly date: string | undefined;
  /** When the call was sent, by our clock. @default `nowMs` */
  readonly sentMs?: number;
  /** What is known of the server's clock. @default no more than this answer's `Date` */
  readonly clock?: ServerClock;
  /** What was found out of the windows of its limits. @default nothing */
  readonly windows?: WindowFinder;
}

/** A server may send whatever it likes; nobody reads more of it than this. */
const LONGEST_FIELD = 4_096;
export const MOST_MEMBERS = 100;

/** All lines of a field as one, cut between two members when it is too long. */
export function fieldText(value: FieldValue): string {
  const text = typeof value === 'string' ? value : joined(value ?? []);
  if (text.length <= LONGEST_FIELD) return text;
  const end = text.lastIndexOf(',', LONGEST_FIELD);
  return text.slice(0, end > 0 ? end : LONGEST_FIELD);
}

/** The members of a field without structure. */
export function membersOf(text: string): readonly string[] {
  if (!text.includes(',')) return [text.trim()];
  return text.split(',', MOST_MEMBERS).map((member) => member.trim());
}

/** No more of the lines than is going to be read. */
function joined(lines: readonly string[]): string {
  let text = '';
  for (const line of lines) {
    text += text === '' ? line : `, ${line}`;
    if (text.length > LONGEST_FIELD) break;
  }
  return text;
}
