import { closeSync, openSync, writeSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { enrich } from '../../commands/enrich.ts';
import { createRunControl, type RunControl } from '../../common/run-control.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import type { RunRecorder } from '../../watch/record-run.ts';
import type { RunAction, RunView, Summary } from '../../watch/run-view.ts';
import { ON_PAGE } from '../../watch/words.ts';
import type { AnsweredCall } from '../../worker/lookup.ts';
import { applyAction } from '../board.ts';
import {
  type Connections,
  costFor,
  nameSetting,
  quietEnv,
  type SavedConnection,
} from './connections.ts';
import { type AppFolder, AppRefusal, createId, isId, refusalOf } from './folder.ts';
import { type Lists, type ListView, openAs, type RunRequest, readFirst } from './lists.ts';

// A run is made in this process, by the function that the command line calls: the key is here, and
// pausing, stopping and watching are calls and no protocol. What a run is goes into its record before it
// starts, what was paid for is in the store within milliseconds, and outputs appear when they are whole.
// So a run whose process is killed is found as `interrupted` at the next start, and goes on.
//
//   start ──► running ──┬─ all asked ───────────────────► done
//     ▲                 ├─ a person, a bound, the API ──► stopped
//     │                 ├─ an error ────────────────────► failed
//     │                 └─ its process is gone ─────────► interrupted
//     └──────────────────── go on ────────────────────────┘

/** A run as it is kept on the disk. */
export interface RunRecord {
  readonly id: string;
  readonly state: 'running' | 'interrupted' | 'stopped' | 'done' | 'failed';
  readonly list: { readonly id: string; readonly name: string };
  readonly kind: ListView['kind'];
  readonly connection: SavedConnection;
  readonly request: RunRequest;
  readonly startedAtMs: number;
  readonly endedAtMs?: number | undefined;
  /** What all its parts used, and how much of it was used when its bounds were last granted. */
  readonly spent: Spent;
  readonly granted: Spent;
  readonly statuses?: Summary['statuses'] | undefined;
  readonly headline?: string | undefined;
  readonly next?: string | undefined;
}

/** Calls that were charged, and what was billed for them, in millionths of a unit. */
interface Spent {
  readonly calls: number;
  readonly billedMicros: number;
  readonly unit?: string | undefined;
}

/** What of a run that goes on is only in memory. */
interface Live {
  readonly control: RunControl;
  recorder: RunRecorder | undefined;
  ended: Promise<void>;
}

export type RunStep = RunAction | 'go-on';

const FURTHER_ON = 'This cannot be done now: the run is further on already.';
const FOLDER = 'runs';
const RECORD = 'run.json';
const VIEW = 'view.json';
const SPENT = 'spent.json';
/** How many pictures of runs travel with each state. */
const MOST_VIEWS = 10;
const FIRST_ROWS = 100;

export interface RunsOptions {
  readonly folder: AppFolder;
  readonly connections: Connections;
  readonly lists: Lists;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onChange: () => void;
}

export type Runs = Awaited<ReturnType<typeof openRuns>>;

/** The runs of the app: those that go on, and earlier ones. */
export async function openRuns(options: RunsOptions) {
  const { folder, connections, lists, env, onChange } = options;
  const records = new Map<string, RunRecord>();
  const live = new Map<string, Live>();
  const views = new Map<string, RunView>();
  const sizes = new Map<string, Readonly<Partial<Record<'result' | 'failures', FileEntry>>>>();
  let isClosing = false;
  for (const id of (await readdir(folder.at(FOLDER))).filter(isId)) {
    const record = folder.readJson(FOLDER, id, RECORD) as RunRecord | undefined;
    if (!record) continue;
    const isCut = record.state === 'running';
    const noted = folder.readJson(FOLDER, id, SPENT) as Spent | undefined;
    const cut: RunRecord = { ...record, state: 'interrupted', spent: noted ?? record.spent };
    records.set(id, isCut ? cut : record);
    const view = folder.readJson(FOLDER, id, VIEW) as RunView | undefined;
    if (view) views.set(id, view);
    await measure(id);
  }

  function record(id: string): RunRecord {
    const found = records.get(id);
    if (!found) throw new AppRefusal('NOT_FOUND', 'There is no such run any more.');
    return found;
  }

  async function keep(changed: RunRecord): Promise<void> {
    records.set(changed.id, changed);
    try {
      await folder.writeJson(changed, FOLDER, changed.id, RECORD);
    } finally {
      onChange();
    }
  }

  function pathsOf({ id, list, kind }: Pick<RunRecord, 'id' | 'list' | 'kind'>) {
    const { stem, extension } = splitExtension(list.name);
    const usual = ENDINGS[kind].test(extension) ? extension : `.${kind}`;
    return {
      result: folder.at(FOLDER, id, `${stem}.enriched${usual}`),
      failures: folder.at(FOLDER, id, `${stem}.failures${usual.replace(/^\.xl.*/i, '.csv')}`),
    };
  }

  async function measure(id: string): Promise<void> {
    const entries = await Promise.all(
      Object.entries(pathsOf(record(id))).map(async ([which, path]) => {
        const found = await stat(path).catch(() => undefined);
        const name = path.slice(folder.at(FOLDER, id).length + 1);
        return found ? [[which, { name, sizeBytes: found.size }] as const] : [];
      }),
    );
    sizes.set(id, Object.fromEntries(entries.flat()));
  }

  function isGoing(id: string): boolean {
    return live.has(id) && records.get(id)?.state === 'running';
  }

  function viewOf(id: string): RunView | undefined {
    return live.get(id)?.recorder?.read() ?? views.get(id);
  }

  function stepsOf(of: RunRecord): readonly RunStep[] {
    if (isGoing(of.id)) return viewOf(of.id)?.actions ?? [];
    if (!lists.has(of.list.id)) return [];
    const { failed = 0, pending = 0, skipped = 0, stale = 0 } = of.statuses ?? {};
    return of.state !== 'done' || failed + pending + skipped + stale > 0 ? ['go-on'] : [];
  }

  function show(of: RunRecord) {
    const { id, state, list, connection, startedAtMs, endedAtMs, statuses, spent } = of;
    const { result, failures } = isGoing(id) ? {} : (sizes.get(id) ?? {});
    const { unit } = spent;
    const bill = unit === undefined ? undefined : { unit, units: spent.billedMicros / 1_000_000 };
    return {
      id,
      state,
      list,
      connection: connection.title,
      isRehearsal: connection.kind === 'sandbox',
      startedAtMs,
      endedAtMs,
      statuses,
      headline: of.headline,
      next: of.next,
      calls: spent.calls,
      cost: connection.kind === 'sandbox' ? {} : costFor(connection.price, spent.calls, bill),
      steps: stepsOf(of),
      result,
      failures,
    };
  }

  /** @throws AppRefusal when it cannot start */
  async function launch(of: RunRecord): Promise<void> {
    if (isGoing(of.id)) throw new AppRefusal('NOT_NOW', FURTHER_ON);
    const sameList = [...records.values()].find(
      ({ id, list }) => id !== of.id && list.id === of.list.id && isGoing(id),
    );
    if (sameList) {
      throw new AppRefusal('NOT_NOW', 'A run of this list goes on: stop it, or wait for its end.');
    }
    const api = await connections.optionsOf(of.connection);
    const listed = lists.optionsOf(of.list.id, of.request);
    const bounds = boundsLeft(of);
    if (bounds.maxCalls === 0 || bounds.maxCost === 0) {
      // It was cut off when all that it may spend was spent. Who goes on once more allows as much again.
      const next = 'All that you allowed is spent. Go on to allow as much again.';
      await keep({ ...of, state: 'stopped', granted: of.spent, next });
      return;
    }
    const { id } = of;
    folder.make(FOLDER, id);
    const control = createRunControl();
    const running: Live = {
      control,
      recorder: undefined,
      ended: Promise.resolve(),
    };
    live.set(id, running);
    await keep({ ...of, state: 'running', next: undefined, headline: undefined });
    const meter = openMeter(folder.at(FOLDER, id, SPENT), of.spent);
    const { result: out, failures } = pathsOf(of);
    const run = enrich(
      {
        ...api,
        ...listed,
        ...bounds,
        out,
        failures,
        runId: id,
        control,
        yes: true,
      },
      nameSetting,
      {
        env: quietEnv(env),
        naming: ON_PAGE,
        recordsRows: true,
        list: of.list.name,
        onRecorder: (recorder) => {
          running.recorder = recorder;
        },
        onCall: (call) => meter.count(call, of.connection.unit),
      },
    );
    running.ended = run
      .then(
        (summary) => ({ state: summary.stopped ? 'stopped' : 'done', summary }) as const,
        (error: unknown) => endOfError(error, folder.path),
      )
      .then(async (end) => {
        meter.close();
        await finish(id, running, { ...end, spent: meter.spent() });
      })
      .catch(() => {}); // the disk takes no record; the next start finds the run as interrupted
  }

  interface End extends Pick<RunRecord, 'state' | 'spent'> {
    readonly summary?: Summary;
    readonly next?: string;
  }

  async function finish(id: string, { recorder }: Live, end: End): Promise<void> {
    const view = recorder?.read();
    if (view) {
      views.set(id, view);
      // Without it, the record alone tells of the run at the next start.
      await folder.writeJson(view, FOLDER, id, VIEW).catch(() => {});
    }
    live.delete(id);
    await measure(id);
    // Whoever closes the app wants the run to go on at the next start.
    const state = isClosing && end.state === 'stopped' ? 'interrupted' : end.state;
    const isUntouched = end.summary?.stopped?.reason === 'misdirected';
    const before = record(id);
    await keep({
      ...before,
      state,
      spent: end.spent,
      // Who goes on after a bound was reached wants as much again.
      granted: state === 'interrupted' ? before.granted : end.spent,
      endedAtMs: Date.now(),
      statuses: isUntouched ? before.statuses : (end.summary?.statuses ?? before.statuses),
      headline: view?.headline,
      next: end.next ?? view?.next,
    });
  }

  return {
    record,
    all: () =>
      [...records.values()].sort((one, other) => other.startedAtMs - one.startedAtMs).map(show),
    /** The latest pictures, those of runs that go on first. */
    views: (): readonly RunView[] => {
      const ids = [...records.values()]
        .sort((one, other) => other.startedAtMs - one.startedAtMs)
        .map(({ id }) => id);
      const going = ids.filter(isGoing);
      const all = [...going, ...ids.filter((id) => !isGoing(id))].slice(0, MOST_VIEWS);
      return all.flatMap((id) => viewOf(id) ?? []);
    },
    start: async (listId: string, request: RunRequest): Promise<string> => {
      const { current: connection } = connections;
      if (!connection) throw new AppRefusal('NO_CONNECTION', 'Choose an API first, under Connect.');
      if (request.fields !== undefined) await lists.choose(listId, request.fields);
      const { name, kind, fields } = lists.find(listId);
      const spent = { calls: 0, billedMicros: 0, unit: connection.unit };
      const id = createId();
      await launch({
        id,
        state: 'running',
        list: { id: listId, name },
        kind,
        connection,
        request: { ...request, fields },
        startedAtMs: Date.now(),
        spent,
        granted: spent,
      });
      return id;
    },
    ask: async (id: string, step: RunStep): Promise<void> => {
      const of = record(id);
      const running = live.get(id);
      if (!stepsOf(of).includes(step)) throw new AppRefusal('NOT_NOW', FURTHER_ON);
      if (step === 'go-on') return await launch({ ...of, endedAtMs: undefined });
      if (!running) return;
      const view = running.recorder?.read();
      const refusal = view && applyAction(view, running.control, step);
      if (refusal !== undefined) throw new AppRefusal('NOT_NOW', refusal);
      onChange();
    },
    remove: async (id: string): Promise<void> => {
      record(id);
      if (isGoing(id)) throw new AppRefusal('NOT_NOW', 'Stop the run first, then delete it.');
      await folder.remove(FOLDER, id);
      records.delete(id);
      views.delete(id);
      onChange();
    },
    isListNeeded: (list: string): boolean =>
      [...records.values()].some((of) => of.list.id === list && isGoing(of.id)),
    /** The path of a file of a run; undefined when there is none. */
    fileOf: (id: string, which: 'result' | 'failures'): string | undefined =>
      show(record(id))[which] && pathsOf(record(id))[which],
    /** The first rows of the result, as the file has them. */
    rows: async (id: string, signal: AbortSignal) => {
      const of = record(id);
      const path = show(of).result && pathsOf(of).result;
      if (!path) throw new AppRefusal('NOT_FOUND', 'There is no result yet.');
      const { sheet } = lists.has(of.list.id) ? lists.find(of.list.id).reading : {};
      const place = { path, spoolFolder: folder.at('spool'), signal };
      const { source, format } = await openAs(place, sheet === undefined ? {} : { sheet });
      try {
        const rows = await readFirst(source, format, FIRST_ROWS);
        return { columns: format.columns, rows };
      } catch (error) {
        throw refusalOf(error, folder.path);
      } finally {
        await source.close();
      }
    },
    /** Stops what goes on, in order; it goes on at the next start. */
    close: async (): Promise<void> => {
      isClosing = true;
      for (const { control } of live.values()) control.stop();
      await Promise.all([...live.values()].map(({ ended }) => ended));
    },
  };
}

export interface FileEntry {
  readonly name: string;
  readonly sizeBytes: number;
}

const ENDINGS: Readonly<Record<ListView['kind'], RegExp>> = {
  csv: /^\.(csv|tsv|tab|txt|text|asc|prn)(\.gz)?$/i,
  jsonl: /^\.(jsonl|ndjson|json)(\.gz)?$/i,
  xlsx: /^\.(xlsx|xlsm|xltx|xltm)$/i,
};

/** What a run may still use of what was granted. */
function boundsLeft({ request, spent, granted }: RunRecord) {
  const { maxCalls, maxCost } = request;
  const calls = spent.calls - granted.calls;
  const units = (spent.billedMicros - granted.billedMicros) / 1_000_000;
  return {
    maxCalls: maxCalls === undefined ? undefined : Math.max(0, maxCalls - calls),
    maxCost: maxCost === undefined ? undefined : Math.max(0, maxCost - units),
  };
}

interface Meter {
  count(call: AnsweredCall, unit: string | undefined): void;
  spent(): Spent;
  close(): void;
}

const LINE_BYTES = 120;

/** Notes what calls cost as they are answered, in a few bytes that are written over: a kill hides nothing. */
function openMeter(path: string, before: Spent): Meter {
  let now = before;
  const file = openSync(path, 'w', 0o600);
  const note = (): void => void writeSync(file, JSON.stringify(now).padEnd(LINE_BYTES), 0);
  note();
  return {
    count: ({ meaning }, unit) => {
      const { httpStatus, costMicros = 0 } = meaning;
      if (httpStatus === undefined || meaning.kind === 'throttled') return;
      now = { calls: now.calls + 1, billedMicros: now.billedMicros + costMicros, unit };
      note();
    },
    spent: () => now,
    close: () => closeSync(file),
  };
}

function endOfError(error: unknown, folder: string) {
  if (error instanceof Error && error.name === 'AbortError') {
    const next = 'Stopped before anything more was asked. Go on when you like.';
    return { state: 'stopped', next } as const;
  }
  return { state: 'failed', next: refusalOf(error, folder).message } as const;
}
