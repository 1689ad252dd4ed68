import { formatSize } from '../common/format.ts';
import type { ReadSoFar } from '../rows/source-bytes.ts';

/** Says how far the reading of a long list is, before its rows can be counted. */
export interface ReadingTeller {
  readonly onRead: (read: ReadSoFar) => void;
  /** From now on something else says how far the run is. */
  end(): void;
}

export interface ReadingTellerOptions {
  readonly onNotice: (message: string) => void;
  /** The time in milliseconds. @default since the process started */
  readonly now?: () => number;
}

/** Then twice as long, and so on: a list that takes an hour needs no hundred lines. */
const FIRST_MS = 10_000;
/** Tables compress to a hundredth at best, unless they are small. */
const MOST_RATIO = 200;
const HARMLESS_BYTES = 64_000_000;

export function createReadingTeller({
  onNotice,
  now = () => performance.now(),
}: ReadingTellerOptions): ReadingTeller {
  const startMs = now();
  let nextMs = FIRST_MS;
  let isWarned = false;
  let hasEnded = false;
  return {
    onRead: ({ name, fileBytes, sizeBytes, plainBytes }) => {
      if (hasEnded) return;
      if (!isWarned && plainBytes > Math.max(HARMLESS_BYTES, MOST_RATIO * fileBytes)) {
        isWarned = true;
        onNotice(
          `${name} is out of proportion: ${formatSize(fileBytes)} of it are ${formatSize(plainBytes)} when decompressed, and it goes on; if it is no real list, interrupt.`,
        );
      }
      const elapsedMs = now() - startMs;
      if (elapsedMs < nextMs) return;
      nextMs = 2 * elapsedMs;
      const share = sizeBytes > 0 ? `${Math.floor((100 * fileBytes) / sizeBytes)}% of it, ` : '';
      onNotice(`Reading ${name}: ${share}${formatSize(plainBytes)} so far.`);
    },
    end: () => {
      hasEnded = true;
    },
  };
}
