import { domainToUnicode } from 'node:url';
import type { Plan } from '../../collector/first-reading.ts';
import { shortenTo } from '../../common/text.ts';
import type { Job } from '../../profile/job.ts';
import { textOfCell } from '../../rows/csv/csv-writer.ts';
import type { CallerOptions } from '../../run/run-context.ts';
import type { Tried } from '../../run/trial.ts';
import { describeStop } from '../../watch/describe.ts';
import { adviseOn } from '../../watch/row-reasons.ts';
import type { RunView } from '../../watch/run-view.ts';
import type { RunSurroundings } from '../show-run.ts';
import { type Connections, jobOnPage } from './connections.ts';
import type { Lists, ListView } from './lists.ts';
import { readFirst, withList } from './read-list.ts';
import { onPage } from './words.ts';

/** Somebody waits. */
const FOR_SAMPLE = { sample: 3, retries: 2, maxWait: '10s', noWait: true };
const RESULT_ROWS = 100;

/** What lists are looked up with. */
export interface LookupsOfLists {
  readonly lists: Lists;
  readonly connections: Connections;
  readonly library: Library;
}

/**
 * What a run of a list would do, and what it has made, for people to look at. Nothing of it is
 * kept.
 */
export function createPreviews({ lists, connections, library }: LookupsOfLists) {
  return {
    /** What a run would do. Reads the whole list. */
    plan: async (id: string, signal: AbortSignal) => {
      const notices: string[] = [];
      const onEvent = (event: { type: string; message?: string; level?: string }): void => {
        if (event.type === 'notice' && event.level !== 'info')
          notices.push(onPage(event.message ?? ''));
      };
      const { input, ...reading } = lists.optionsOf(id);
      const job = jobOnPage({ ...(await connections.optionsOf()), ...reading, noWait: true });
      return { ...(await library.planJob(input, job, { signal, onEvent })), notices };
    },
    /** Real answers for a sample of the list, and what all of it would find, take and cost. */
    sample: async (id: string, signal: AbortSignal) => {
      const { input, fields: _, ...reading } = lists.optionsOf(id);
      const given = { ...(await connections.optionsOf()), ...reading, ...FOR_SAMPLE };
      const { tried, view } = await library.sampleJob(input, jobOnPage(given), { signal });
      return {
        domains: tried.map((one) => ({
          domain: domainToUnicode(one.domain) || one.domain,
          status: one.status,
          message: messageOf(one),
        })),
        calls: view.calls,
        whole: view.whole,
        fields: fieldsOf(tried),
        problem: view.stopped
          ? onPage(describeStop(view.stopped))
          : tried.length === 0
            ? 'No row holds a web address: is it the right column?'
            : tried.some(({ status }) => status === 'found')
              ? undefined
              : 'None of these companies was found, so there is nothing to choose from. All that the API answers in the run is added.',
      };
    },
    /** The first rows of the result, as the file has them, by their numbers in the list. */
    rows: async (id: string, signal: AbortSignal) => {
      const list = lists.find(id);
      const place = lists.placeOf(list, signal);
      const given = await withList(place, list.reading, (source, format) =>
        readFirst(source, format, RESULT_ROWS, false),
      );
      const made = { ...place, path: lists.outputsOf(id).out };
      return await withList(made, { sheet: list.sheet }, async (source, format) => ({
        columns: format.columns,
        first: firstColumns(list, format.columns),
        rows: (await readFirst(source, format, RESULT_ROWS, false)).map(({ number, cells }, at) => {
          return { number: given[at]?.number ?? number, cells };
        }),
      }));
    },
  };
}

/** What came of a domain, in a sentence or two. */
function messageOf({ said, ...tried }: Tried): string {
  const advice = onPage(adviseOn(tried));
  return said === undefined ? advice : `${advice} It says: '${said}'.`;
}

/**
 * The columns that answers make, each with its value in every answer; the rest of them has no way.
 */
function fieldsOf(tried: readonly Tried[]) {
  const all = tried.flatMap(({ columns }) => columns);
  const ways = new Map(
    all.flatMap(({ name, expression }) => (expression === undefined ? [] : [[expression, name]])),
  );
  return [...ways].map(([expression, name]) => ({
    name: name.replace(/^brand_/, ''),
    expression,
    values: tried.map(({ columns }) => {
      const value = columns.find((column) => column.expression === expression)?.value;
      return shortenTo(textOfCell(value), LONGEST_VALUE);
    }),
  }));
}

const LONGEST_VALUE = 160;

/** What most people look for in a result, in this order, by the ends of names. */
const MOST_FIRST = 5;
const LOOKED_FOR = [/_name$/, /_industry|_categor/, /_city$/, /_logo|_icon|_image/];

/**
 * The columns of a result that are shown first: how a row is known in the list, and what was
 * learned.
 */
function firstColumns({ columns: own, column }: ListView, all: readonly string[]): number[] {
  const others = [...own.keys()].filter((at) => at !== column?.index);
  const name = others.find((at) => /name|company|firma/i.test(own[at] ?? '')) ?? others[0];
  const known = [name ?? [], column?.index ?? []].flat();
  const added = [...all.keys()].slice(own.length);
  const status = added.filter((at) => all[at]?.endsWith('_status'));
  const found = LOOKED_FOR.flatMap((end) => added.find((at) => end.test(all[at] ?? '')) ?? []);
  const learned = found.length > 1 ? found : added.slice(0, MOST_FIRST);
  return [...new Set([...known, ...learned, ...status.slice(0, 1)])];
}

/**
 * What the app uses of the library, which shows its runs on this page and so lies above it: whoever
 * opens the app passes it.
 */
export interface Library {
  planJob(input: string, job: Job, caller: CallerOptions): Promise<Plan>;
  sampleJob(
    input: string,
    job: Job,
    caller: CallerOptions,
  ): Promise<{ readonly tried: readonly Tried[]; readonly view: RunView }>;
  enrichJob(
    input: string,
    job: Job,
    caller: CallerOptions,
    around: RunSurroundings,
  ): Promise<RunView>;
}
