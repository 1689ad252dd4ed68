import { relative, resolve, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { OutputColumn } from '../collector/output-columns.ts';
import type { LogoCounts } from '../logos/save-logos.ts';
import { createDistinctDomains, type DistinctDomains } from '../producer/distinct-domains.ts';
import type { LogosSummary } from '../watch/summary.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { PlannedRun } from './plan-run.ts';

/** The logos of a run. */
export interface LogosOfRun {
  /** What the rows tell of them. */
  readonly columns: readonly OutputColumn[];
  /**
   * Fetches those that are not there.
   *
   * @param stopped why the lookups stopped early, if they did
   */
  save(stopped: Stop | undefined): Promise<SavedLogos>;
}

interface SavedLogos {
  readonly summary: LogosSummary;
  /** When it was interrupted. */
  readonly stopped: Stop | undefined;
}

const PROGRESS_MS = 250;

/**
 * Opens the folder of the logos, if there is to be one: before any call is made.
 *
 * @param outFolder what the paths in the rows are relative to
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openLogosOf(
  run: PlannedRun,
  outFolder: string,
): Promise<LogosOfRun | undefined> {
  const { logos: folderPath, logoField: field } = run.job.settings;
  if (folderPath === undefined || field === undefined) return undefined;
  const { openPictureFolder } = await import('../logos/picture-folder.ts');
  const folder = await openPictureFolder(folderPath);
  tellOfProxy(run);
  const nothing = { saved: 0, kept: 0, missing: 0, reasons: {} };
  return {
    columns: columnsOf(run, resolve(folderPath), resolve(outFolder)),
    save: async (stopped) => {
      // Whoever asked the wrong address gets no output either.
      const isInVain = stopped?.reason === 'misdirected';
      const counts = isInVain ? nothing : await fetchAll(run, { folder, field });
      const isInterrupted = stopped === undefined && run.context.signal.aborted;
      return {
        summary: { folder: folderPath, ...counts },
        stopped: isInterrupted ? { reason: 'interrupted' } : undefined,
      };
    },
  };
}

type Loaded = {
  readonly folder: Awaited<
    ReturnType<typeof import('../logos/picture-folder.ts').openPictureFolder>
  >;
  readonly field: NonNullable<PlannedRun['job']['settings']['logoField']>;
};

async function fetchAll(run: PlannedRun, { folder, field }: Loaded): Promise<LogoCounts> {
  const { job, context, store, closer } = run;
  const { logoConcurrency, logoMaxSize, logoAllow = [], refresh = false } = job.settings;
  const { signal } = context;
  const [{ saveLogos }, { createPictureFetcher }, { createHostTurns }] = await Promise.all([
    import('../logos/save-logos.ts'),
    import('../logos/fetch-picture.ts'),
    import('../logos/host-turns.ts'),
  ]);
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
  const progress = createProgress(run, total);
  try {
    return await saveLogos({
      domains: () => found.read(),
      answerOf: (domain) => store.find(domain)?.json,
      valueOf: (answer) => field.valueOf(answer),
      notes: store.logos,
      folder,
      fetcher,
      turns,
      allowed: logoAllow,
      signal,
      now: Date.now,
      startedAtMs: Date.now(),
      refresh,
      missingCountsMs: job.settings.freshNotFound,
      maxBytes: logoMaxSize,
      onDone: progress.take,
    });
  } finally {
    progress.end();
  }
}

/** All domains of the list that have an answer which counts. */
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

/** Tells how far it is, at most a few times a second. */
function createProgress(
  { context: { signal, onEvent } }: PlannedRun,
  total: number,
): { readonly take: (counts: LogoCounts) => void; readonly end: () => void } {
  const startMs = performance.now();
  let latest: LogoCounts = { saved: 0, kept: 0, missing: 0, reasons: {} };
  const show = (): void => {
    const { saved, kept, missing } = latest;
    const elapsedMs = performance.now() - startMs;
    onEvent({ type: 'logos', total, saved, kept, missing, elapsedMs });
  };
  const tell = (): void => {
    const message = 'Interrupted: no further logo is fetched, and the rows are written.';
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

function columnsOf(
  { store }: PlannedRun,
  folder: string,
  outFolder: string,
): readonly OutputColumn[] {
  const way = relative(outFolder, folder).split(sep).join('/');
  const pathTo = (file: string): string => (way === '' ? file : `${way}/${file}`);
  return [
    {
      name: 'logo_file',
      expression: 'logo_file',
      valueOf: ({ domain, status }) => {
        const saved = status === 'found' ? store.logos.find(domain)?.saved : undefined;
        return saved && pathTo(saved.file);
      },
    },
    {
      name: 'logo_reason',
      isCompared: false,
      valueOf: ({ domain, status }) => {
        if (status !== 'found') return undefined;
        const note = store.logos.find(domain);
        return note ? note.missing?.reason : 'not_asked';
      },
    },
  ];
}

/** The check of addresses is worth nothing where somebody else makes the connection. */
function tellOfProxy({ context }: PlannedRun): void {
  const proxies = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
  if (!proxies.some((name) => process.env[name])) return;
  const message =
    'Logos are fetched directly, not through the proxy of the environment: behind it, their addresses could not be checked.';
  context.onEvent({ type: 'notice', message });
}
