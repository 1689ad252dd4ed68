import { setTimeout as delay } from 'node:timers/promises';
import type { Field } from '../collector/fields/fields.ts';
import type { RunControl } from '../common/run-control.ts';
import { createPictureFetcher, type PictureFetcher } from '../logos/fetch-picture.ts';
import { createHostTurns } from '../logos/host-turns.ts';
import { type LogoCounts, type PictureFolder, saveLogos } from '../logos/save-logos.ts';
import { createDistinctDomains, type DistinctDomains } from '../producer/distinct-domains.ts';
import { PROGRESS_MS, type RunEvent } from '../watch/events.ts';
import type { PlannedRun } from './plan.ts';

export interface FetchLogosOptions {
  readonly folder: PictureFolder;
  /** Finds the URL of a logo in an answer. */
  readonly field: Field;
  /** Ends the fetching. Logos that are missing then are noted as not asked. */
  readonly signal: AbortSignal;
}

/**
 * Fetches the logos of all domains of a list that were found. These calls do not go through the
 * pacer, because they do not go to the API.
 */
export async function fetchLogos(
  run: PlannedRun,
  { folder, field, signal }: FetchLogosOptions,
): Promise<LogoCounts> {
  const { job, context, store, closer } = run;
  const { logoConcurrency, logoMaxSize, logoAllow = [], refresh = false } = job.settings;
  const perHost = Math.max(1, Math.floor(logoConcurrency / 2));
  const fetcher = closer.add(
    createPictureFetcher({ allowed: logoAllow, maxBytes: logoMaxSize, perHost }),
  );
  const turns = createHostTurns({
    concurrency: logoConcurrency,
    perHost,
    signal,
    now: () => performance.now(),
    sleep: (ms) => delay(ms, undefined, { signal }).catch(() => {}),
  });
  const found = closer.add(await createDistinctDomains(run.spoolFolder));
  const total = await gather(run, found);
  const progress = showProgress(total, { signal, onEvent: context.onEvent });
  try {
    return await saveLogos({
      domains: () => found.read(),
      answerOf: (domain) => store.find(domain)?.json,
      valueOf: (answer) => field.valueOf(answer),
      notes: store.logos,
      folder,
      fetcher: whileOpen(fetcher, context.control),
      turns,
      allowed: logoAllow,
      signal,
      now: run.now,
      startedAtMs: run.now(),
      refresh,
      missingCountsMs: job.settings.freshNotFound,
      maxBytes: logoMaxSize,
      onDone: progress.take,
    });
  } finally {
    progress.end();
  }
}

/** Gathers all domains of the list with an answer that counts. */
async function gather(run: PlannedRun, found: DistinctDomains): Promise<number> {
  const { index, store, isUsable } = run;
  for await (const rows of index.read()) {
    const domains = rows
      .filter(({ kind }) => kind === 'due' || kind === 'known')
      .map(({ text }) => text)
      .filter((domain) => {
        const head = store.findHead(domain);
        return head?.status === 'found' && isUsable(domain, head);
      });
    await found.add(domains);
  }
  return await found.settle();
}

/** Fetches nothing while the run is paused. */
function whileOpen(fetcher: PictureFetcher, control: RunControl | undefined): PictureFetcher {
  if (!control) return fetcher;
  return {
    ...fetcher,
    fetch: async (url, signal) => {
      await control.whileOpen(signal).catch(() => {}); // the fetcher notices the abort
      return await fetcher.fetch(url, signal);
    },
  };
}

/** Reports progress, at most a few times a second. */
function showProgress(
  total: number,
  {
    signal,
    onEvent,
  }: { readonly signal: AbortSignal; readonly onEvent: (event: RunEvent) => void },
): { readonly take: (counts: LogoCounts) => void; readonly end: () => void } {
  const startMs = performance.now();
  let latest: LogoCounts = { saved: 0, kept: 0, missing: 0, reasons: {} };
  const show = (): void => {
    const { saved, kept, missing } = latest;
    const elapsedMs = performance.now() - startMs;
    onEvent({ type: 'logos', total, saved, kept, missing, elapsedMs });
  };
  const tell = (): void => {
    const message = 'Interrupted: no more logos are fetched, and the rows are written.';
    onEvent({ type: 'notice', message });
  };
  const ticker = setInterval(show, PROGRESS_MS);
  signal.addEventListener('abort', tell);
  return {
    take: (counts) => {
      latest = counts;
    },
    end: () => {
      clearInterval(ticker);
      signal.removeEventListener('abort', tell);
      show();
    },
  };
}
