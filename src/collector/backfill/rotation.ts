/** The two kinds of files that a collector writes. */
export type PartKind = 'enriched' | 'failures';

export const PART_KINDS: readonly PartKind[] = ['enriched', 'failures'];

/** The file of a kind that is being written, or the last one that was. */
export interface PartState {
  /** In UTC, such as `2026-11-21T08`. */
  readonly hour: string;
  /** Files of one hour are counted from 1. */
  readonly number: number;
  /** How many bytes of the file count. A write after these was not completed. */
  readonly bytes: number;
  readonly lines: number;
  /** False once the file is finished. */
  readonly isOpen: boolean;
}

/** The UTC hour of a time, such as `2026-11-21T08`. */
function hourOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 13);
}

/**
 * The name of a finished file: `enriched-2026-11-21T08.jsonl`, `enriched-2026-11-21T08-2.jsonl`.
 */
export function fileName(
  kind: PartKind,
  { hour, number }: Pick<PartState, 'hour' | 'number'>,
): string {
  return `${kind}-${hour}${number === 1 ? '' : `-${number}`}.jsonl`;
}

/** Whether a file has to be finished before more bytes are written. */
export function isDue(
  state: PartState | undefined,
  { nowMs, moreBytes, maxBytes }: { nowMs: number; moreBytes: number; maxBytes: number },
): boolean {
  if (!state?.isOpen) return false;
  if (state.hour !== hourOf(nowMs)) return true;
  // A reply that is longer than a file may be becomes a file of its own.
  return state.bytes > 0 && moreBytes > 0 && state.bytes + moreBytes > maxBytes;
}

/**
 * The file after the last one. Numbers are not reused, even if files were removed. The number of a
 * file without a line is reused, because that file may not even have been created.
 */
export function nextFile(
  last: PartState | undefined,
  nowMs: number,
): Pick<PartState, 'hour' | 'number'> {
  const hour = hourOf(nowMs);
  if (last?.hour !== hour) return { hour, number: 1 };
  return { hour, number: last.bytes === 0 ? last.number : last.number + 1 };
}
