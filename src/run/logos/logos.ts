import { relative, resolve, sep } from 'node:path';
import { findJsonObject } from '../../brand/json-object.ts';
import { createRowAnswers, headAt } from '../../collector/asked-apis.ts';
import type { Field } from '../../collector/fields/fields.ts';
import { hasValues } from '../../collector/joined-row.ts';
import type { OutputColumn } from '../../collector/output/output-columns.ts';
import { hasDomain } from '../../collector/row-index.ts';
import { recordOf } from '../../collector/second-reading.ts';
import type { RunControl } from '../../common/run-control.ts';
import { PROGRESS_MS } from '../../watch/events.ts';
import type { OpenedList } from '../open.ts';
import type { PlannedList } from '../plan.ts';
import { notify } from '../run-context.ts';
import { createPictureFetcher, type PictureFetcher } from './fetch-picture.ts';
import { openPictureFolder, type PictureFolder } from './picture-folder.ts';
import { type LogoCounts, saveLogos } from './save-logos.ts';

/** The logos of a run. */
export type LogosOfRun = Awaited<ReturnType<typeof openLogosOf>>;

export interface OpenLogosOptions {
  /** The path of the folder for them. */
  readonly folder: string;
  /** Finds the URL of a logo in an answer. */
  readonly field: Field;
  /** The folder that paths in the rows are relative to. */
  readonly outFolder: string;
}

/**
 * Opens the folder of the logos before any call is made.
 *
 * @throws BrandfillError `UNWRITABLE_OUTPUT`
 */
export async function openLogosOf(
  list: OpenedList,
  planned: PlannedList,
  { folder: path, field, outFolder }: OpenLogosOptions,
) {
  const folder = await openPictureFolder(path, list.source.file ? [list.source.file] : []);
  reportProxy(list);
  return {
    /** The columns that are added for them. */
    columns: columnsOf(planned, wayFrom(outFolder, path)),
    /** Fetches logos that are missing or out of date, until the run is interrupted. */
    save: async () => ({ folder: path, ...(await fetchLogos(list, planned, { folder, field })) }),
  };
}

/** The relative way from one folder to another, as the beginning of a path. */
function wayFrom(outFolder: string, folder: string): string {
  const way = relative(resolve(outFolder), resolve(folder)).split(sep).join('/');
  return way === '' ? '' : `${way}/`;
}

function columnsOf({ apis: [{ store }] }: PlannedList, way: string): readonly OutputColumn[] {
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
function reportProxy({ context }: OpenedList): void {
  const proxies = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'];
  if (!proxies.some((name) => process.env[name])) return;
  notify(
    context,
    'Logos are fetched directly, not through the proxy of the environment: behind it, their addresses could not be checked.',
  );
}

/**
 * Fetches the logos of all domains of a list that were found. These calls do not go through the
 * pacer, because they do not go to the API.
 */
async function fetchLogos(
  { job, context, closer, now }: OpenedList,
  planned: PlannedList,
  { folder, field }: { readonly folder: PictureFolder; readonly field: Field },
): Promise<LogoCounts> {
  const { signal, onEvent, control } = context;
  const { logosSvg, refresh = false } = job.settings;
  // The API may be in a private network, as it was chosen by whoever runs this.
  const ownOrigin = job.endpoint.origin;
  const fetcher = closer.add(createPictureFetcher({ ownOrigin, takesSvg: logosSvg }));
  let total = 0;
  for await (const domains of foundIn(planned)) total += domains.length;
  let latest: LogoCounts = { saved: 0, kept: 0, missing: 0, reasons: {} };
  const show = (): void => {
    const { saved, kept, missing } = latest;
    onEvent({ type: 'logos', total, saved, kept, missing });
  };
  const ticker = setInterval(show, PROGRESS_MS);
  const interrupted = (): void =>
    notify(context, 'Interrupted: no more logos are fetched, and the rows are written.');
  signal.addEventListener('abort', interrupted);
  try {
    return await saveLogos({
      domains: () => foundIn(planned),
      answerOf: answersOf(planned),
      valueOf: (answer) => field.valueOf(answer),
      notes: planned.apis[0].store.logos,
      folder,
      fetcher: whileOpen(fetcher, control),
      ownOrigin,
      signal,
      now,
      startedAtMs: now(),
      refresh,
      missingCountsMs: job.settings.freshNotFound,
      onDone: (counts) => {
        latest = counts;
      },
    });
  } finally {
    clearInterval(ticker);
    signal.removeEventListener('abort', interrupted);
    show();
  }
}

/**
 * The answer of a domain as JSON: that of the first API that found it, with its columns where there
 * are several.
 */
function answersOf({ apis }: PlannedList): (domain: string) => string | undefined {
  const answers = createRowAnswers({ apis, keepsStale: false });
  return (domain) => {
    const { outcome, at } = answers(domain);
    if (apis.length === 1) return outcome?.json;
    const answer = findJsonObject(outcome?.json ?? '');
    return answer && JSON.stringify(recordOf(answer, apis[at]?.fields ?? [], true));
  };
}

const DOMAINS_AT_A_TIME = 200;

/** All domains of the list with an answer that counts. */
async function* foundIn({ index, apis }: PlannedList): AsyncGenerator<readonly string[]> {
  let some: string[] = [];
  for await (const rows of index.read()) {
    for (const { isFirst, text, kind } of rows) {
      if (!isFirst || !hasDomain({ kind })) continue;
      if (apis.some((api) => headAt(api, text)?.status === 'found')) some.push(text);
    }
    if (some.length < DOMAINS_AT_A_TIME) continue;
    yield some;
    some = [];
  }
  yield some;
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
