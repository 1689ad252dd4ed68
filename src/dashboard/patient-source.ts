import { inTime, NoAnswerError } from '../common/abort.ts';
import { reasonOf } from '../queue/bullmq/server/reasons.ts';
import type { Board, BoardSource } from './board.ts';

export interface PatientSourceOptions {
  /** The name of the Redis. */
  readonly name: string;
  /** Longest time that a reading may take. @default 3000 ms */
  readonly readMs?: number;
  /** Longest time that an action may take. @default 5000 ms */
  readonly askMs?: number;
}

/**
 * Reports when Redis does not answer. Its client would wait for a connection for as long as it
 * takes, and the viewer would take an old state for the current one.
 */
export function withPatience(source: BoardSource, options: PatientSourceOptions): BoardSource {
  const { name, readMs = 3_000, askMs = 5_000 } = options;
  let reading: Promise<Board> | undefined;

  async function ask(asking: Promise<string | undefined>): Promise<string | undefined> {
    try {
      return await inTime(askMs, asking);
    } catch (error) {
      return error instanceof NoAnswerError
        ? `Redis at ${name} does not answer. What was asked may still be done when it does.`
        : `Redis at ${name}: ${reasonOf(error)}.`;
    }
  }

  return {
    read: async () => {
      // One reading at a time: those that wait for a connection would pile up.
      reading ??= source.read().finally(() => {
        reading = undefined;
      });
      try {
        return await inTime(readMs, reading);
      } catch (error) {
        const what =
          error instanceof NoAnswerError ? ' does not answer: ' : `: ${reasonOf(error)}; `;
        throw new Error(`Redis at ${name}${what}what is shown here is as it was before.`, {
          cause: error,
        });
      }
    },
    ask: (run, action) => ask(source.ask(run, action)),
    runNow: (group, job) => ask(source.runNow(group, job)),
    steerBackfills: (action) => ask(source.steerBackfills(action)),
  };
}
