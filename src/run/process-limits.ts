import { readdirSync, readFileSync } from 'node:fs';
import type { Plan } from '../collector/first-reading.ts';
import { refusal } from '../common/errors.ts';
import type { Job } from '../profile/job.ts';
import type { RunContext } from './run-context.ts';

/** Of what every JavaScript has, this much is used here. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => object;
};

/** Descriptors that are needed beside connections to the API: files, Redis, viewers, names. */
const RESERVED = 40;

/** A job with no more calls at once than this process may have connections, which is said. */
export function withinLimits(job: Job, { onEvent }: Pick<RunContext, 'onEvent'>): Job {
  const { settings } = job;
  const most = mostConnections();
  if (most === undefined || most >= settings.concurrency) return job;
  const message = `This process may open few files and connections (ulimit -n): at most ${most} calls go out at once, not ${settings.concurrency}.`;
  onEvent({ type: 'notice', message });
  return { ...job, settings: { ...settings, concurrency: most } };
}

/** Undefined where it is not known, outside of Linux. */
function mostConnections(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, most] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    if (most === undefined) return undefined;
    return Math.max(1, Number(most) - readdirSync('/proc/self/fd').length - RESERVED);
  } catch {
    return undefined;
  }
}

/**
 * The HTTP client is in part WebAssembly, whose memory is reserved in large pieces.
 *
 * @throws BrandfillError `INVALID_SETTING` where this process may not reserve so much
 */
export function assertCallsArePossible({ lookups }: Pick<Plan, 'lookups'>): void {
  if (lookups === 0) return;
  try {
    Reflect.construct(WebAssembly.Memory, [{ initial: 1 }]);
  } catch (error) {
    throw refusal(
      'Cannot make calls: this process may reserve too little address space; raise that limit (ulimit -v unlimited), or bound its memory in another way.',
      error,
    );
  }
}
