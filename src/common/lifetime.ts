import { once } from 'node:events';

/** How long an end waits for a Redis that may be away, where nothing is lost without it. */
export const SHUTDOWN_TIMEOUT_MS = 2_000;

/** The longest time that a timer of Node.js can wait: a longer one would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/**
 * Waits for work, but no longer than `ms`. The work itself goes on. A later failure is ignored.
 *
 * @returns whether the work ended in time
 * @throws the error of the work, if it fails in time
 */
export async function within(ms: number, work: Promise<void>): Promise<boolean> {
  const isDone = work.then(() => true);
  return await inTime(ms, isDone).catch((error: unknown) => {
    if (error instanceof NoAnswerError) return false;
    throw error;
  });
}

/** There was no answer in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * Waits for an answer, but no longer than `ms`. A later answer is ignored.
 *
 * @throws NoAnswerError when there is no answer in time
 */
export async function inTime<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError('no answer')), ms);
  });
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** Waits until a signal fires. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/**
 * Waits for work, but only until an abort. The work itself goes on.
 *
 * @throws the signal's reason when it fires first
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { signal: done.signal });
  });
  return await Promise.race([stopped, work]).finally(() => done.abort());
}

/** Makes works wait for each other: each begins when the one before has ended, well or not. */
export function createMutex(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => {});
    return next;
  };
}

const LONGEST_END_MS = 1_000;
const beforeEnd = new Set<() => Promise<unknown>>();

/**
 * Has work awaited before the process is ended in the middle of everything, as threads of a native
 * module would crash it. Returns a function that takes that back.
 */
export function awaitBeforeEnd(work: () => Promise<unknown>): () => void {
  beforeEnd.add(work);
  return () => void beforeEnd.delete(work);
}

/** Waits for that work, for a second at most. */
export async function readyToEnd(): Promise<void> {
  const works = [...beforeEnd].map((work) => work());
  if (works.length > 0) await inTime(LONGEST_END_MS, Promise.allSettled(works)).catch(() => {});
}

/** Something that has to be closed. */
export interface Closable {
  close(): Promise<void>;
}

/**
 * Closes what was opened, last first, in any case. If one resource cannot be closed, the others are
 * closed nevertheless. The first error is thrown at the end.
 */
export type Closer = ReturnType<typeof createCloser>;

export function createCloser() {
  const open: Closable[] = [];
  return {
    /** Registers a resource and returns it. */
    add: <T extends Closable>(resource: T): T => {
      open.push(resource);
      return resource;
    },
    close: async (): Promise<void> => {
      const errors: unknown[] = [];
      for (let last = open.pop(); last; last = open.pop()) {
        try {
          await last.close();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    },
  };
}

/**
 * Makes callbacks of a program harmless. One that throws ends the work in order. Many callbacks are
 * called by timers, where an error would end the whole process.
 *
 * @param stops the caller's signals that end the work
 */
export function createCallbackGuard(stops: readonly (AbortSignal | undefined)[]) {
  const failed = new AbortController();
  const fail = (error: unknown): void => failed.abort(error);
  return {
    /** Fires when one of the signals does, or when a callback has failed. */
    signal: AbortSignal.any([...stops.filter((stop) => stop !== undefined), failed.signal]),
    /**
     * Wraps a callback so that it does not throw. Once one has failed, no callback is called any
     * more.
     */
    guard:
      <A extends readonly unknown[]>(callback: (...given: A) => unknown) =>
      (...given: A): void => {
        if (failed.signal.aborted) return;
        try {
          const answer = callback(...given);
          if (answer instanceof Promise) answer.catch(fail);
        } catch (error) {
          fail(error);
        }
      },
    /** Must be called at the end. @throws the first error of a callback */
    throwIfFailed: (): void => failed.signal.throwIfAborted(),
  };
}
