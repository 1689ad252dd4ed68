import { toCleanJson } from '../common/secrets.ts';
import { within } from '../common/within.ts';
import type { RunAction, ScheduleName } from '../dashboard/board.ts';
import type { RunEnd } from '../dashboard/live-run.ts';
import type { announceRun } from '../queue/bullmq/runs/run-board.ts';
import { recordRun } from './record-run.ts';
import type { RunContext } from './run-context.ts';

/** A run as `brandfill dashboard` sees it, in Redis. */
export interface RunBoard {
  /** What the run takes from outside; what it tells goes to Redis too. */
  readonly context: RunContext;
  close(how: RunEnd | undefined): Promise<void>;
}

/** A Redis that is gone must not hold up the end of a run. */
const FAREWELL_MS = 2_000;

/**
 * Shows a run in Redis, and does what is asked of it there. A Redis that cannot be used is no reason
 * not to run: if the run needs it, it says so itself.
 *
 * @param url undefined when there is no Redis to show it in
 * @param schedule the one that makes it, if one does
 */
export async function openRunBoard(
  url: string | undefined,
  context: RunContext,
  schedule?: ScheduleName,
): Promise<RunBoard> {
  if (url === undefined) return { context, close: async () => {} };
  // Loaded here, so that whoever has no Redis need not wait for it.
  const [{ announceRun, openQueueServer }, { applyAction }, recorded] = await Promise.all([
    import('../queue/bullmq/index.ts'),
    import('../dashboard/apply-action.ts'),
    recordRun(context, schedule),
  ]);
  const { recorder, control } = recorded;
  // Not waited for: a Redis that does not answer is told of by a run that needs it.
  const showing = show(url, { openQueueServer, announceRun }, () => ({
    id: context.runId,
    describe: () => toCleanJson(recorder.read()),
    onAsked: (action) => void applyAction(recorder.read(), control, action as RunAction),
  }));
  return {
    context: recorded.context,
    close: async (how) => {
      if (how) recorder.end(how);
      const shown = await showing;
      await shown?.close();
    },
  };
}

type Announcing = Pick<typeof import('../queue/bullmq/index.ts'), 'openQueueServer'> & {
  readonly announceRun: typeof announceRun;
};

async function show(
  url: string,
  { openQueueServer, announceRun }: Announcing,
  describe: () => Parameters<typeof announceRun>[1],
): Promise<{ close(): Promise<void> } | undefined> {
  try {
    const redis = await openQueueServer({
      url,
      acceptEviction: true,
      isTraced: false,
      onNotice: () => {},
    });
    const announced = announceRun(redis.client, describe());
    return {
      close: async () => {
        await within(FAREWELL_MS, announced.close());
        await redis.close();
      },
    };
  } catch {
    return undefined;
  }
}
