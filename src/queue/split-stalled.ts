import type { Job, Queue } from 'bullmq';
import type { OnNotice } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { jobIdOf, parseLookups, withoutCall } from './contract.ts';
import { LOOKUPS_JOB, runJobPrefix } from './names.ts';
import type { OutcomeWriter } from './outcome-writer.ts';

/** Whether a job failed because its lock ran out too often: each time a worker was lost with it. */
export function isStalled(reason: string | undefined): boolean {
  return reason?.includes('stalled more than allowable limit') ?? false;
}

interface SplitOptions {
  readonly queue: Queue;
  readonly writer: OutcomeWriter;
  readonly now: () => number;
  readonly onNotice: OnNotice;
}

/** Whether the job is one domain that was cut from a job whose workers were lost. */
export function isSingle(id: string): boolean {
  return /(^|-)single-/.test(id);
}

/**
 * Finds out which lookup of a failed job it is that workers are lost with: each one becomes a job, of which
 * a worker begins one at a time, and the one that is lost so has the outcome `worker_crashed`. May be done
 * again after a kill.
 */
export async function splitStalled(job: Job<unknown>, options: SplitOptions): Promise<void> {
  const { queue, writer, now, onNotice } = options;
  const data = parseLookups(job.data);
  if (typeof data === 'string') return;
  const { id = '', opts } = job;
  const { domains, run } = data;
  const [only] = domains;
  if (only !== undefined && isSingle(id)) {
    onNotice(`Each worker that looked up ${only} was lost: it is given up.`);
    const outcome = withoutCall(only, { status: 'failed', reason: 'worker_crashed', nowMs: now() });
    await writer.add({ id, token: '', data, left: () => [] }, [outcome]);
  } else if (domains.length > 0) {
    if (domains.length > 1) {
      onNotice(
        `Job ${id} lost its worker twice: its ${countOf(domains.length, 'lookup')} are now made one at a time.`,
      );
    }
    const { priority = 0 } = opts;
    const singles = domains.map((domain) => ({
      name: LOOKUPS_JOB,
      data: { ...data, domains: [domain] },
      opts: {
        priority,
        jobId: jobIdOf(`${run === undefined ? '' : runJobPrefix(run)}single`, [id, domain]),
      },
    }));
    await queue.addBulk(singles);
  }
  await queue.remove(id);
}
