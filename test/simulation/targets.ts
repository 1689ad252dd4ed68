import type { Server } from './cells.ts';
import type { Summary } from './summary.ts';

export interface Target {
  /** Of what the server allows, once warm. */
  readonly efficiency: number;
  /** Share of calls answered 429, once warm and in the whole run. */
  readonly warmThrottled: number;
  readonly throttled: number;
}

/** What is wanted of each cell. */
export function targetOf({ kind }: Pick<Server, 'kind'>): Target {
  const efficiency = kind === 'rate' ? 0.98 : kind === 'concurrency' ? 0.95 : 0.88;
  return { efficiency, warmThrottled: kind === 'rate' ? 0.005 : 0.008, throttled: 0.008 };
}

/** Where a cell falls short, in words. */
export function missedTargets(server: Pick<Server, 'kind'>, summary: Summary): string[] {
  const target = targetOf(server);
  const { warmEfficiency, warmThrottled, throttled } = summary;
  return [
    warmEfficiency < target.efficiency ? `not met: ${target.efficiency * 100} % of the limit` : '',
    warmThrottled >= target.warmThrottled
      ? `not met: < ${target.warmThrottled * 100} % 429 warm`
      : '',
    throttled >= target.throttled ? `not met: < ${target.throttled * 100} % 429 in all` : '',
    summary.areAllComplete ? '' : 'not finished',
  ].filter((text) => text !== '');
}
