import { z } from 'zod';
import { createRunControl, type RunControl } from '../../common/run-control.ts';
import type { RunRecorder } from '../../watch/record-run.ts';
import type { RunView } from '../../watch/run-view.ts';
import { refused } from '../access.ts';
import { type BoardSource, EMPTY_BOARD, GONE, showOwnRun } from '../board.ts';
import { jobOnPage } from './connections.ts';
import type { ListRun } from './lists.ts';
import type { LookupsOfLists } from './previews.ts';
import { onPage } from './words.ts';

// A list is run in this process, by the function that the command line calls: the key is here, and
// pausing, stopping and watching are calls and no protocol. Running it again goes on, as the same
// command would: what was paid for is in the store within milliseconds, and outputs appear when
// they are whole.

export const runRequest = z.object({
  maxCalls: z.int().positive().optional(),
  /** Whether to do the last run again, with its API and its bound. */
  goesOn: z.boolean().optional(),
});

type Reader = Pick<RunRecorder, 'read'>;

interface Live {
  readonly control: RunControl;
  /** Missing until it begins. */
  recorder?: Reader;
  ended: Promise<void>;
}

/** The runs that go on, by their lists. */
export function openRuns(options: LookupsOfLists & { readonly onChange: () => void }) {
  const { connections, lists, library, onChange } = options;
  const live = new Map<string, Live>();

  /** @throws BrandfillError or HTTPException when it cannot begin */
  async function begin(id: string, running: Live, how: Omit<ListRun, 'view'>): Promise<void> {
    const { connection, maxCalls } = how;
    const { control } = running;
    const api = await connections.optionsOf(connection);
    const { input, ...reading } = lists.optionsOf(id);
    const job = jobOnPage({ ...api, ...reading, ...lists.outputsOf(id), maxCalls });
    const keep = async (recorder: Reader): Promise<unknown> =>
      await lists.keepRun(id, { ...how, view: recorder.read() });
    running.recorder = await new Promise<Reader>((resolve, reject) => {
      let recorder: Reader | undefined;
      const confirm = async (): Promise<boolean> => {
        if (recorder) await keep(recorder);
        return true;
      };
      const caller = { runId: id, control, confirm };
      running.ended = library
        .enrichJob(input, job, caller, {
          words: onPage,
          list: lists.find(id).name,
          onRecorder: ({ read }) => {
            recorder = { read };
            resolve(recorder);
          },
        })
        .then(() => {}, reject) // what went wrong later is in the picture of the run
        .then(async () => {
          if (recorder) await keep(recorder);
        })
        .catch(() => {}) // the disk takes no record; the next start finds the run as it began
        .finally(() => {
          live.delete(id);
          onChange();
        });
    });
  }

  const views = (): readonly RunView[] =>
    [...live.values()].flatMap(({ recorder }) => recorder?.read() ?? []);

  return {
    isLive: (id: string) => live.has(id),
    /** Runs a list. */
    start: async (id: string, { maxCalls, goesOn }: z.infer<typeof runRequest>): Promise<void> => {
      const { run } = lists.find(id);
      const { current: connection } = connections;
      const how = goesOn === true ? run : connection && { connection, maxCalls };
      if (!how) throw refused(409, 'Choose an API first, under Connect.');
      if (live.has(id))
        throw refused(409, 'A run of this list goes on: stop it, or wait for its end.');
      const running: Live = { control: createRunControl(), ended: Promise.resolve() };
      live.set(id, running);
      try {
        await begin(id, running, { connection: how.connection, maxCalls: how.maxCalls });
      } catch (error) {
        live.delete(id);
        throw error;
      }
      onChange();
    },
    /** What goes on, and what can be asked of it. */
    board: {
      read: async () => ({ ...EMPTY_BOARD, runs: views() }),
      ask: async (id, action) => {
        const { recorder, control } = live.get(id) ?? {};
        const refusal =
          recorder && control ? await showOwnRun(recorder, control).ask(id, action) : GONE;
        onChange();
        return refusal;
      },
    } satisfies BoardSource,
    /** Stops what goes on, in order; it can go on at the next start. */
    close: async (): Promise<void> => {
      for (const { control } of live.values()) control.stop();
      await Promise.all([...live.values()].map(({ ended }) => ended));
    },
  };
}
