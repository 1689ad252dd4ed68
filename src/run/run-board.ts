import { toCleanJson } from '../common/secrets.ts';
import { within } from '../common/within.ts';
import type { RunAction, ScheduleName } from '../dashboard/board.ts';
import type { RunEnd } from '../dashboard/live-run.ts';
import type { announceRun } from '../queue/bullmq/runs/run-board.ts';
import { recordRun } from './record-run.ts';
import type { RunContext } from './run-context.ts';

/** Shows a run in Redis, for `brandfill dashboard`. */
export interface RunBoard {
  /** The context of the run, whose events also go to Redis. */
  readonly context: RunContext;
  close(how: RunEnd | undefined): Promise<void>;
}

/** A Redis that cannot be reached must not hold up the end of a run for longer. */
const SHUTDOWN_TIMEOUT_MS = 2_000;

/**
 * Shows a run in Redis, and takes requests to it from there. The run goes on if Redis cannot be
 * used: a run that needs Redis reports that itself.
 *
 * @param url undefined to show the run nowhere
 * @param schedule the schedule that makes the run, if any
 */
export async function openRunBoard(
  url: string | undefined,
  context: RunContext,
  schedule?: ScheduleName,
): Promise<RunBoard> {
  if (url === undefined) return { context, close: async () => {} };
  // Loaded here, so that a run without Redis need not wait for it.
  const [{ announceRun, openQueueServer }, { applyAction }, recorded] = await Promise.all([
    import('../queue/bullmq/index.ts'),
    import('../dashboard/apply-action.ts'),
    recordRun(context, schedule),
  ]);
  const { recorder, control } = recorded;
  // Not awaited: if Redis does not answer, a run that needs it reports that.
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
        await within(SHUTDOWN_TIMEOUT_MS, announced.close());
        await redis.close();
      },
    };
  } catch {
    return undefined;
  }
}
