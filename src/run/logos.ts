import { relative, resolve, sep } from 'node:path';
import { hasValues } from '../collector/joined-row.ts';
import type { OutputColumn } from '../collector/output/output-columns.ts';
import type { LogosSummary } from '../watch/summary.ts';
import type { Stop } from '../worker/stop-switch.ts';
import type { PlannedRun } from './plan.ts';

/** The logos of a run. */
export interface LogosOfRun {
  /** The columns that are added for them. */
  readonly columns: readonly OutputColumn[];
  /**
   * Fetches logos that are missing or out of date.
   *
   * @param stopped why the lookups stopped early, if they did
   */
  save(stopped: Stop | undefined): Promise<SavedLogos>;
}

export interface SavedLogos {
  readonly summary: LogosSummary;
  /** Set when the fetching was interrupted. */
  readonly stopped: Stop | undefined;
}

/**
 * Opens the folder of the logos, if there is one, before any call is made.
 *
 * @param outFolder the folder that paths in the rows are relative to
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openLogosOf(
  run: PlannedRun,
  outFolder: string,
): Promise<LogosOfRun | undefined> {
  const { logos: path, logoField: field } = run.job.settings;
  if (path === undefined || field === undefined) return undefined;
  const { openPictureFolder } = await import('../logos/save-logos.ts');
  const folder = await openPictureFolder(path, run.source.file ? [run.source.file] : []);
  tellOfProxy(run);
  const nothing = { saved: 0, kept: 0, missing: 0, reasons: {} };
  return {
    columns: columnsOf(run, wayFrom(outFolder, path)),
    save: async (stopped) => {
      // With a wrong address there is no output either.
      if (stopped?.reason === 'misdirected') {
        return { summary: { folder: path, ...nothing }, stopped: undefined };
      }
      const signal = signalOf(run);
      const { fetchLogos } = await import('./fetch-logos.ts');
      const counts = await fetchLogos(run, { folder, field, signal });
      const isInterrupted = stopped === undefined && signal.aborted;
      return {
        summary: { folder: path, ...counts },
        stopped: isInterrupted ? { reason: 'interrupted' } : undefined,
      };
    },
  };
}

/** Fires when the run is to stop, for any reason. */
function signalOf({ context: { signal, control } }: PlannedRun): AbortSignal {
  return control ? AbortSignal.any([signal, control.stopped]) : signal;
}

/** The relative way from one folder to another, as the beginning of a path. */
function wayFrom(outFolder: string, folder: string): string {
  const way = relative(resolve(outFolder), resolve(folder)).split(sep).join('/');
  return way === '' ? '' : `${way}/`;
}

function columnsOf({ store }: PlannedRun, way: string): readonly OutputColumn[] {
  return [
    {
      name: 'logo_file',
      expression: 'logo_file',
      valueOf: ({ domain, status }) => {
        const saved = hasValues({ status }) ? store.logos.find(domain)?.saved : undefined;
        return saved && way + saved.file;
      },
    },
    {
      name: 'logo_reason',
      isCompared: false, // a host that is down for a night is no news of the brand
      valueOf: ({ domain, status }) => {
        if (!hasValues({ status })) return undefined;
        const note = store.logos.find(domain);
        return note ? note.missing?.reason : 'not_asked';
      },
    },
  ];
}

/**
 * Reports that a proxy is not used: the check of addresses has no effect when a proxy makes the
 * connection.
 */
function tellOfProxy({ context }: PlannedRun): void {
  const proxies = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
  if (!proxies.some((name) => process.env[name])) return;
  const message =
    'Logos are fetched directly, not through the proxy of the environment: behind it, their addresses could not be checked.';
  context.onEvent({ type: 'notice', message });
}
