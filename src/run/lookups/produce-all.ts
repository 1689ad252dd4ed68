import { setTimeout as delay } from 'node:timers/promises';
import type { RunControl } from '../../common/run-control.ts';
import { type ProduceOptions, produce } from '../../producer/produce.ts';
import type { LookupQueue } from '../../queue/lookup-queue.ts';
import type { Parking } from '../../queue/parking.ts';
import type { OutcomeStore } from '../../store/store.ts';
import type { Tally } from './progress.ts';

export interface ProduceAllOptions extends ProduceOptions {
  /** Says whether failed domains are to be asked once more. @default they are not */
  readonly control: RunControl | undefined;
  readonly store: Pick<OutcomeStore, 'findHead'>;
  readonly tally: Pick<Tally, 'again'>;
  readonly parking: Pick<Parking, 'room' | 'giveOut' | 'end'>;
  /** When the run started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The present time of the run, in milliseconds since 1970. Never goes back. */
  readonly now: () => number;
}

const POLL_MS = 10;

/**
 * Gives out the domains that are due, and those again that are pending. When a retry is requested while the last of them are under
 * way, it then gives out again those that failed in this run.
 *
 * @returns false when there were more than `maxLookups`
 */
export async function produceAll(options: ProduceAllOptions): Promise<boolean> {
  const { control, queue, signal, parking, chunkSize } = options;
  const open: LookupQueue = {
    ...queue,
    add: async (chunk) => {
      await parking.room();
      await queue.add(chunk);
    },
    end: () => {},
  };
  const givingOut = parking.giveOut((chunk) => queue.add(chunk), chunkSize);
  givingOut.catch(() => {}); // thrown below
  try {
    const isComplete = await produce({ ...options, queue: open });
    while ((await isQuiet(options)) && isComplete && control?.takeRetry() && !signal.aborted) {
      await produceFailed({ ...options, queue: open });
    }
    return isComplete;
  } finally {
    parking.end();
    await givingOut;
    queue.end();
  }
}

/**
 * Waits until nothing is under way. Domains that another run has stored meanwhile get no outcome
 * here.
 */
async function isQuiet({ outstanding, isFresh, signal }: ProduceAllOptions): Promise<boolean> {
  while (!signal.aborted && ![...outstanding].every(isFresh)) await delay(POLL_MS);
  return true;
}

async function produceFailed(options: ProduceAllOptions): Promise<void> {
  const { queue, store, tally, startedAtMs, now } = options;
  const beforeMs = now();
  const hasFailed = (domain: string): boolean => {
    const head = store.findHead(domain);
    const atMs = head?.status === 'failed' ? head.fetchedAtMs : 0;
    return atMs >= startedAtMs && atMs < beforeMs;
  };
  await produce({
    ...options,
    passes: [() => true],
    isFresh: (domain) => !hasFailed(domain),
    queue: {
      ...queue,
      add: async (chunk) => {
        for (const domain of chunk.domains) tally.again(domain);
        await queue.add(chunk);
      },
    },
  });
}
