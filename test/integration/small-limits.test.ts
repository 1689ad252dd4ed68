import { describe, expect, it } from 'vitest';
import type { RunView } from '../../src/index.ts';
import { createLimiter, limitHeaders } from '../../src/sandbox/limiter.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { openApi } from './support/api.ts';
import { type Ended, enrichHere, summaryOf } from './support/command.ts';
import { column, type Folder, openList, rowsOf } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';

/** A list, and a limit that saves little up, told by a status that may mean other things. */
interface World {
  readonly rows: number;
  readonly perSecond: number;
  /** Calls that it lets through at once. */
  readonly burst: number;
  readonly status: 400 | 403 | 429 | 503;
  /** @default 2 */
  readonly latencyMs?: number;
  /** Whether a refusal says for how long to wait. */
  readonly isStated?: true;
  readonly flags?: readonly string[];
  /** Calls that may be made, about half more than are. */
  readonly most: number;
}

const SHORT = { perSecond: 12, burst: 24, status: 403 } as const;
const STATED = { burst: 1, status: 503, isStated: true } as const;
const TOO_FAST = { perSecond: 34, burst: 1, rows: 90, flags: ['--rate', '119/s'] } as const;
const BY_TWO = { perSecond: 12, burst: 24, rows: 60 } as const;

const GIVEN = '$rows rows, a limit of $perSecond/s, burst $burst, told by $status';

describe('all is found, with few calls, and no outage is seen once the API has answered', () => {
  it.each<World>([
    { ...SHORT, rows: 30, latencyMs: 60, most: 60 },
    { ...SHORT, rows: 30, latencyMs: 60, status: 400, most: 60 },
    { ...SHORT, rows: 37, most: 115 },
    { ...SHORT, rows: 45, most: 150 },
    { ...STATED, perSecond: 53, rows: 60, most: 220 },
    { ...STATED, perSecond: 20, rows: 60, most: 170 },
    { ...TOO_FAST, status: 429, most: 180 },
    { ...TOO_FAST, status: 503, most: 270 },
  ])(`${GIVEN} ($most calls, $flags)`, async ({ rows, flags = [], most, ...limit }) => {
    const folder = openList(rows);
    const api = await openApi(limitedBy(limit));
    const { outages } = expectAllFound(
      folder,
      await enrichHere(folder, api.url, '--json', ...flags),
    );
    expect(outages.length).toBeLessThanOrEqual(1);
    expect(api.stats().calls).toBeLessThanOrEqual(most);
  });

  it.each<World>([
    { ...BY_TWO, status: 403, most: 270 },
    { ...BY_TWO, status: 429, most: 160 },
    { ...BY_TWO, status: 429, isStated: true, most: 120 },
    { ...TOO_FAST, status: 429, most: 230 },
  ])(`by two workers: ${GIVEN} ($most calls, $flags)`, async (world) => {
    const { rows, flags = [], most, ...limit } = world;
    const stage = await openStage(rows, limitedBy(limit));
    await Promise.all([stage.worker(), stage.worker()]);
    expectAllFound(stage.folder, await stage.enrich('--workers', '0', '--json', ...flags).ended);
    expect(stage.api.stats().calls).toBeLessThanOrEqual(most);
  });
});

/** An API that would find every domain, were it not for its limit. */
function limitedBy({
  perSecond,
  burst,
  status,
  isStated,
  latencyMs = 2,
}: Omit<World, 'rows' | 'most'>): SandboxOptions {
  const rate = { count: perSecond, perMs: 1_000 };
  const limiter = createLimiter('token-bucket', rate, burst);
  return {
    latencyMs,
    respond: () => {
      const verdict = limiter(performance.now());
      if (verdict.allowed) return undefined;
      const headers = isStated && limitHeaders('retry-after', rate, verdict, Date.now());
      return { status, headers: headers ?? {}, body: { error: 'You may not do this.' } };
    },
  };
}

/** As if there were no limit. */
function expectAllFound(folder: Folder, ended: Ended): RunView {
  expect(ended.code, ended.stderr).toBe(0);
  const [given, out] = [rowsOf(folder.read('list.csv')), rowsOf(folder.read('list.enriched.csv'))];
  expect(column(out, 'domain')).toEqual(column(given, 'domain'));
  expect(new Set(column(out, 'brand_status'))).toEqual(new Set(['found']));
  return summaryOf(ended);
}
