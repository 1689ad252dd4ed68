import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { enrich } from '../../commands/enrich.ts';
import { createRunControl, type RunControl } from '../../common/run-control.ts';
import { splitExtension } from '../../rows/open-rows.ts';
import { ENDINGS } from '../../rows/row-format.ts';
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
import { AppRefusal, createId, isId, refusalOf } from './folder.ts';
import {
  type Lists,
  type ListsOptions,
  type ListView,
  type RunRequest,
  readFirst,
  withList,
} from './lists.ts';

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
  /** What all its parts used. */
  readonly spent: Spent;
  readonly statuses?: Summary['statuses'] | undefined;
  readonly headline?: string | undefined;
  readonly next?: string | undefined;
}

/** Calls that were charged, and what was billed for them, in millionths of a unit. */
interface Spent {
  readonly calls: number;
  readonly billedMicros: number;
}

/** What of a run that goes on is only in memory. */
interface Live {
  readonly list: string;
  readonly control: RunControl;
  recorder?: RunRecorder;
  spent?: () => Spent;
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

export interface RunsOptions extends ListsOptions {
  readonly connections: Connections;
  readonly lists: Lists;
}

/** The runs of the app: those that go on, and earlier ones. */
export async function openRuns(options: RunsOptions) {
  const { folder, connections, lists, env, onChange } = options;
  const records = new Map<string, RunRecord>();
  const live = new Map<string, Live>();
  const views = new Map<string, RunView>();
  let isClosing = false;
  for (const id of (await readdir(folder.at(FOLDER))).filter(isId)) {
    const record = folder.readJson(FOLDER, id, RECORD) as RunRecord | undefined;
    if (!record) continue;
    const noted = folder.readJson(FOLDER, id, SPENT) as Spent | undefined;
    const cut: RunRecord = { ...record, state: 'interrupted', spent: noted ?? record.spent };
    records.set(id, record.state === 'running' ? cut : record);
    const view = folder.readJson(FOLDER, id, VIEW) as RunView | undefined;
    if (view) views.set(id, view);
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

  function pathsOf({ id, list, kind }: RunRecord) {
    const { stem, extension } = splitExtension(list.name);
    const usual = ENDINGS[kind].test(extension) ? extension : `.${kind}`;
    return {
      result: folder.at(FOLDER, id, `${stem}.enriched${usual}`),
      failures: folder.at(FOLDER, id, `${stem}.failures${usual.replace(/^\.xl.*/i, '.csv')}`),
    };
  }

  /** The path of a file of a run; undefined when there is none, or it is being made. */
  function fileOf(of: RunRecord, which: 'result' | 'failures'): string | undefined {
    const path = pathsOf(of)[which];
    return !live.has(of.id) && existsSync(path) ? path : undefined;
  }

  /** @throws AppRefusal `NOT_FOUND` */
  function needFile(id: string, which: 'result' | 'failures'): string {
    const path = fileOf(record(id), which);
    if (path === undefined) throw new AppRefusal('NOT_FOUND', 'There is no such file yet.');
    return path;
  }

  const latestFirst = (): readonly RunRecord[] =>
    [...records.values()].sort((one, other) => other.startedAtMs - one.startedAtMs);

  const viewOf = (id: string): RunView | undefined =>
    live.get(id)?.recorder?.read() ?? views.get(id);

  function stepsOf(of: RunRecord): readonly RunStep[] {
    if (live.has(of.id)) return viewOf(of.id)?.actions ?? [];
    const { failed = 0, pending = 0, skipped = 0, stale = 0 } = of.statuses ?? {};
    return of.state !== 'done' || failed + pending + skipped + stale > 0 ? ['go-on'] : [];
  }

  function show(of: RunRecord) {
    const { kind: _, request: _request, connection, ...rest } = of;
    const { spent: before, ...about } = rest;
    const { title, price, unit } = connection;
    const spent = live.get(of.id)?.spent?.() ?? before;
    const bill = unit === undefined ? undefined : { unit, units: spent.billedMicros / 1_000_000 };
    const nameOf = (path: string | undefined) => path && basename(path);
    return {
      ...about,
      connection: title,
      isRehearsal: connection.kind === 'sandbox',
      calls: spent.calls,
      cost: connection.kind === 'sandbox' ? {} : costFor(price, spent.calls, bill),
      steps: stepsOf(of),
      result: nameOf(fileOf(of, 'result')),
      failures: nameOf(fileOf(of, 'failures')),
    };
  }

  /** @throws AppRefusal when it cannot start */
  async function launch(of: RunRecord): Promise<void> {
    const { id, list } = of;
    if ([...live.values()].some((running) => running.list === list.id)) {
      throw new AppRefusal('NOT_NOW', 'A run of this list goes on: stop it, or wait for its end.');
    }
    const control = createRunControl();
    const running: Live = { list: list.id, control, ended: Promise.resolve() };
    live.set(id, running);
    try {
      await begin(of, running);
    } catch (error) {
      live.delete(id);
      throw error;
    }
  }

  async function begin(of: RunRecord, running: Live): Promise<void> {
    const { id, list, request, connection } = of;
    const api = await connections.optionsOf(connection);
    // A bound counts in the store what a part that was cut off had spent.
    const listed = lists.optionsOf(list.id, request);
    folder.make(FOLDER, id);
    await keep({ ...of, state: 'running', next: undefined, headline: undefined });
    const meter = openMeter(folder.at(FOLDER, id, SPENT), of.spent);
    running.spent = meter.spent;
    const { result: out, failures } = pathsOf(of);
    const files = { out, failures, runId: id, control: running.control, yes: true };
    const run = enrich({ ...api, ...listed, ...files }, nameSetting, {
      env: quietEnv(env),
      naming: ON_PAGE,
      recordsRows: true,
      list: list.name,
      onRecorder: (recorder) => {
        running.recorder = recorder;
      },
      onCall: meter.count,
    });
    running.ended = run
      .then(
        (summary) => ({ state: summary.stopped ? 'stopped' : 'done', summary }) as const,
        (error: unknown) => endOfError(error, folder.path),
      )
      .then(async (end) => await finish(id, running, { ...end, spent: meter.close() }))
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
    const before = record(id);
    // Whoever closes the app wants the run to go on at the next start.
    const state = isClosing && end.state === 'stopped' ? 'interrupted' : end.state;
    const isUntouched = end.summary?.stopped?.reason === 'misdirected';
    await keep({
      ...before,
      state,
      spent: end.spent,
      endedAtMs: Date.now(),
      statuses: isUntouched ? before.statuses : (end.summary?.statuses ?? before.statuses),
      headline: view?.headline,
      next: end.next ?? view?.next,
    });
  }

  return {
    record,
    all: () => latestFirst().map(show),
    /** The latest pictures. */
    views: (): readonly RunView[] =>
      latestFirst()
        .slice(0, MOST_VIEWS)
        .flatMap(({ id }) => viewOf(id) ?? []),
    start: async (listId: string, request: RunRequest): Promise<string> => {
      const { current: connection } = connections;
      if (!connection) throw new AppRefusal('NO_CONNECTION', 'Choose an API first, under Connect.');
      if (request.fields !== undefined) await lists.choose(listId, request.fields);
      const { name, kind, fields } = lists.find(listId);
      const id = createId();
      await launch({
        id,
        state: 'running',
        list: { id: listId, name },
        kind,
        connection,
        request: { ...request, fields },
        startedAtMs: Date.now(),
        spent: { calls: 0, billedMicros: 0 },
      });
      return id;
    },
    ask: async (id: string, step: RunStep): Promise<void> => {
      const of = record(id);
      if (!stepsOf(of).includes(step)) throw new AppRefusal('NOT_NOW', FURTHER_ON);
      if (step === 'go-on') {
        return await launch({ ...of, startedAtMs: Date.now(), endedAtMs: undefined });
      }
      const { recorder, control } = live.get(id) ?? {};
      if (recorder && control) applyAction(recorder.read(), control, step);
      onChange();
    },
    /** Removes all runs of a list. */
    removeOf: async (listId: string): Promise<void> => {
      const ids = latestFirst().flatMap(({ id, list }) => (list.id === listId ? [id] : []));
      if (ids.some((id) => live.has(id))) {
        throw new AppRefusal('NOT_NOW', 'A run still needs this list: stop it first.');
      }
      for (const id of ids) {
        await folder.remove(FOLDER, id);
        records.delete(id);
        views.delete(id);
      }
    },
    fileOf: needFile,
    /** The first rows of the result, as the file has them. */
    rows: async (id: string, signal: AbortSignal) => {
      const { sheet } = lists.find(record(id).list.id);
      const place = { path: needFile(id, 'result'), spoolFolder: folder.at('spool'), signal };
      return await withList(place, { sheet }, async (source, format) => ({
        columns: format.columns,
        rows: await readFirst(source, format, FIRST_ROWS),
      }));
    },
    /** Stops what goes on, in order; it goes on at the next start. */
    close: async (): Promise<void> => {
      isClosing = true;
      for (const { control } of live.values()) control.stop();
      await Promise.all([...live.values()].map(({ ended }) => ended));
    },
  };
}

const LINE_BYTES = 120;

/** Notes what calls cost as they are answered, in a few bytes that are written over: a kill hides nothing. */
function openMeter(path: string, before: Spent) {
  let now = before;
  const file = openSync(path, 'w', 0o600);
  const note = (): void => void writeSync(file, JSON.stringify(now).padEnd(LINE_BYTES), 0);
  note();
  return {
    count: ({ meaning }: AnsweredCall): void => {
      const { httpStatus, costMicros = 0, kind } = meaning;
      if (httpStatus === undefined || kind === 'throttled') return;
      now = { calls: now.calls + 1, billedMicros: now.billedMicros + costMicros };
      note();
    },
    /** Gives what was spent. */
    close: (): Spent => {
      closeSync(file);
      return now;
    },
    spent: (): Spent => now,
  };
}

function endOfError(error: unknown, folder: string) {
  if (error instanceof Error && error.name === 'AbortError') {
    const next = 'Stopped before anything more was asked. Go on when you like.';
    return { state: 'stopped', next } as const;
  }
  return { state: 'failed', next: refusalOf(error, folder).message } as const;
}
