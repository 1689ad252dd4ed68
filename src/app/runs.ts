import { readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { enrich } from '../commands/enrich.ts';
import { createRunControl, type RunControl } from '../common/run-control.ts';
import { splitExtension } from '../rows/open-rows.ts';
import type { Sampled } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import type {
  AppRun,
  AppRunState,
  FileEntry,
  ListView,
  MendRequest,
  RunRequest,
  RunStep,
  SampledView,
} from '../web/app/contract.ts';
import type { Board, RunState } from '../web/board.ts';
import { applyAction, createLiveRun, type LiveRun } from '../web/live-run.ts';
import {
  type Connections,
  costFor,
  nameSetting,
  quietEnv,
  type SavedConnection,
} from './connection.ts';
import { type AppFolder, AppRefusal, createId, isId } from './folder.ts';
import type { Lists } from './lists.ts';
import {
  countsOf,
  linesOfSummary,
  plainly,
  refusalOf,
  shownDomain,
  wordsOfReason,
} from './words.ts';

// A run is made in this process, by the function that the command line calls, and not in a process
// of its own: the key is here, and pausing, stopping and watching are calls and no protocol. What a
// process of its own would survive, this survives too. What a run is goes into its record before it
// starts, what was paid for is in the store within milliseconds, and outputs appear when they are
// whole. So a run whose process is killed is found as `interrupted` at the next start, and goes on
// with the same call.
//
//   start ──► running ──┬─ the first ones are asked ─► asking ── yes ─► running
//     ▲                 │                                └────── no ──► stopped
//     │                 ├─ all asked ───────────────────────────────► done
//     │                 ├─ a person, a bound, the API ──────────────► stopped
//     │                 ├─ an error ────────────────────────────────► failed
//     │                 └─ its process is gone ─────────────────────► interrupted
//     └──────────────────── go on, mend ────────────────────────────────┘

/** The runs of the app: those that go on, and earlier ones. */
export interface Runs {
  /** The latest first. */
  all(): readonly AppRun[];
  /** @throws AppRefusal `NOT_FOUND` */
  find(id: string): AppRun;
  /** @throws AppRefusal */
  record(id: string): RunRecord;
  start(list: string, request: RunRequest): Promise<AppRun>;
  /** @throws AppRefusal `NOT_NOW` */
  ask(id: string, step: RunStep): Promise<void>;
  /** Corrects cells, and asks about these rows alone. */
  mend(id: string, request: MendRequest): Promise<AppRun>;
  remove(id: string): Promise<void>;
  /** Whether a run that goes on needs a list. */
  isListNeeded(list: string): boolean;
  /** The live runs, for the card. */
  board(): Board;
  /** The path of a file of a run; undefined when there is none. */
  fileOf(id: string, which: 'result' | 'failures'): string | undefined;
  /** Stops what goes on, in order; it goes on at the next start. */
  close(): Promise<void>;
}

/** A run as it is kept on the disk. */
export interface RunRecord {
  readonly id: string;
  readonly state: AppRunState;
  readonly list: { readonly id: string; readonly name: string };
  readonly kind: ListView['kind'];
  readonly connection: SavedConnection;
  readonly request: RunRequest;
  readonly startedAtMs: number;
  readonly endedAtMs?: number | undefined;
  /** Whether somebody said yes after the first ones. */
  readonly isConfirmed?: boolean | undefined;
  /** Cells that were corrected: texts by the number of their row. */
  readonly mended?: Readonly<Record<string, string>> | undefined;
  readonly statuses?: Summary['statuses'] | undefined;
  /** Of all its parts together. */
  readonly calls: number;
  readonly charged: number;
  readonly billed?: { readonly units: number; readonly unit: string } | undefined;
  readonly lines: readonly string[];
  readonly error?: string | undefined;
}

/** What of a run that goes on is only in memory. */
interface LiveRecord {
  readonly control: RunControl;
  readonly recorder: LiveRun;
  sampled: Sampled | undefined;
  /** How many rows came to which end, once it is over. */
  counts: string | undefined;
  /** Answers the question after the first ones; undefined when nothing is asked. */
  answer: ((isYes: boolean) => void) | undefined;
  ended: Promise<void>;
}

export interface RunsOptions {
  readonly folder: AppFolder;
  readonly connections: Connections;
  readonly lists: Lists;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onChange: () => void;
}

const FURTHER_ON = 'This cannot be done now: the run is further on already.';
const FOLDER = 'runs';
const RECORD = 'run.json';
/** How many runs that are over the board still has. */
const MOST_RECENT = 20;
/** How often the calls of a run are noted: what a kill hides from its bounds and its bill. */
const NOTE_EVERY_MS = 250;

export async function openRuns(options: RunsOptions): Promise<Runs> {
  const { folder, connections, lists, env, onChange } = options;
  const records = new Map<string, RunRecord>();
  const live = new Map<string, LiveRecord>();
  const sizes = new Map<string, { result?: FileEntry; failures?: FileEntry }>();
  const launching = new Set<string>();
  let isClosing = false;
  folder.make(FOLDER);
  for (const id of (await readdir(folder.at(FOLDER))).filter(isId)) {
    const record = folder.readJson(FOLDER, id, RECORD) as RunRecord | undefined;
    if (!record) continue;
    const isCut = record.state === 'running' || record.state === 'asking';
    records.set(id, isCut ? { ...record, state: 'interrupted' } : record);
    await measure(id);
  }

  function record(id: string): RunRecord {
    const found = records.get(id);
    if (!found) throw new AppRefusal('NOT_FOUND', 'There is no such run any more.');
    return found;
  }

  async function keep(changed: RunRecord): Promise<RunRecord> {
    records.set(changed.id, changed);
    onChange();
    await folder.writeJson(changed, FOLDER, changed.id, RECORD);
    return changed;
  }

  function pathsOf({ id, list, kind }: Pick<RunRecord, 'id' | 'list' | 'kind'>): {
    readonly result: string;
    readonly failures: string;
  } {
    const { stem, extension } = splitExtension(list.name);
    const usual = ENDINGS[kind].test(extension) ? extension : `.${kind}`;
    return {
      result: folder.at(FOLDER, id, `${stem}.enriched${usual}`),
      failures: folder.at(FOLDER, id, `${stem}.failures${usual.replace(/^\.xl.*/i, '.xlsx')}`),
    };
  }

  async function measure(id: string): Promise<void> {
    const paths = pathsOf(record(id));
    const entry = async (path: string): Promise<FileEntry | undefined> => {
      const found = await stat(path).catch(() => undefined);
      const name = path.slice(path.lastIndexOf('/') + 1).replace(/^.*\\/, '');
      return found && { name, sizeBytes: found.size };
    };
    const [result, failures] = await Promise.all([entry(paths.result), entry(paths.failures)]);
    sizes.set(id, { ...(result && { result }), ...(failures && { failures }) });
  }

  function isListThere(id: string): boolean {
    return lists.entries().some((list) => list.id === id);
  }

  function show(of: RunRecord): AppRun {
    const { id, state, list, kind, connection, startedAtMs, endedAtMs, statuses } = of;
    const { lines, error, calls, charged, billed } = of;
    const running = live.get(id);
    const isLive = running !== undefined && (state === 'running' || state === 'asking');
    const { result, failures } = sizes.get(id) ?? {};
    const failed = failures && (statuses === undefined || hasFailures(statuses));
    return {
      id,
      state,
      list,
      kind,
      connection: connection.title,
      isRehearsal: connection.kind === 'sandbox',
      startedAtMs,
      endedAtMs,
      statuses,
      calls,
      cost: costFor(connection, { calls: charged, bill: billed && { ...billed } }),
      lines,
      error,
      sampled:
        state === 'asking' && running?.sampled ? viewOf(running.sampled, connection) : undefined,
      steps: isLive ? stepsOfLive(running, state) : isListThere(list.id) ? stepsOfEnded(of) : [],
      result: isLive ? undefined : result,
      failures: isLive || !failed ? undefined : failures,
      canMend: !isLive && result !== undefined && isListThere(list.id),
    };
  }

  function stepsOfLive({ recorder }: LiveRecord, state: AppRunState): readonly RunStep[] {
    return state === 'asking' ? ['yes', 'no'] : recorder.read().actions;
  }

  /** Two tabs may ask for the same at once: the second one is refused. */
  async function launch(of: RunRecord, only?: ReadonlySet<number>): Promise<RunRecord> {
    if (launching.has(of.id) || isGoing(of.id)) throw new AppRefusal('NOT_NOW', FURTHER_ON);
    launching.add(of.id);
    try {
      return await begin(of, only);
    } finally {
      launching.delete(of.id);
    }
  }

  /** @param only rows to ask about, and no others. @default all that are due */
  async function begin(of: RunRecord, only?: ReadonlySet<number>): Promise<RunRecord> {
    const api = await connections.optionsOf(of.connection);
    const listed = lists.optionsOf(of.list.id, of.request);
    const { result: out, failures } = pathsOf(of);
    const { id, request } = of;
    folder.make(FOLDER, id);
    const started = await keep({ ...of, state: 'running', lines: [], error: undefined });
    const control = createRunControl();
    const about = { id, host: hostname(), pid: process.pid, startedAtMs: Date.now() };
    const recorder = createLiveRun({ ...about, control });
    const running: LiveRecord = {
      control,
      recorder,
      sampled: undefined,
      counts: undefined,
      answer: undefined,
      ended: Promise.resolve(),
    };
    live.delete(id);
    live.set(id, running);
    const isAsked = request.firstAskMe !== undefined && !of.isConfirmed && !only;
    const bounds = boundsLeft(of);
    const counting = createCounting(started, async (counted) => {
      await keep({ ...record(id), ...counted });
    });
    const run = enrich(
      {
        ...api,
        ...listed,
        ...bounds,
        out,
        failures,
        runId: id,
        control,
        ...(isAsked ? { sample: request.firstAskMe } : { yes: true }),
        ...(of.mended && { mended: of.mended, onlyMended: only !== undefined }),
        confirm: async () => {
          if (!running.sampled) return true; // there were not more than that
          const answered = new Promise<boolean>((resolve) => {
            running.answer = resolve;
            control.stopped.addEventListener('abort', () => resolve(false), { once: true });
          });
          await keep({ ...record(id), state: 'asking' }); // whoever sees it may answer at once
          const isYes = await answered;
          running.answer = undefined;
          const isConfirmed = isYes || record(id).isConfirmed;
          await keep({ ...record(id), state: 'running', isConfirmed });
          return isYes;
        },
        onEvent: (event) => {
          if (event.type === 'sampled') running.sampled = event;
          if (event.type === 'progress') counting.look(event);
          const isNamed = event.type === 'opened';
          recorder.show(isNamed ? { ...event, input: of.list.name } : event);
        },
      },
      nameSetting,
      { env: quietEnv(env) },
    );
    running.ended = run
      .then(
        async (summary) => await finish({ summary }),
        async (error: unknown) => await finish({ error }),
      )
      .catch(() => {}); // the disk takes no record; the next start finds the run as interrupted
    return started;

    async function finish(
      how: { readonly summary: Summary } | { readonly error: unknown },
    ): Promise<void> {
      await counting.settle();
      const end = 'summary' in how ? endOf(how.summary, only) : endOfError(how.error);
      if ('summary' in how) running.counts = countsOf(how.summary);
      recorder.end('summary' in how ? how : { error: end.error ?? end.lines[0] ?? '' });
      await measure(id);
      const counted = counting.total('summary' in how ? how.summary : undefined);
      // Whoever closes the app wants the run to go on at the next start.
      const state = isClosing && end.state === 'stopped' ? 'interrupted' : end.state;
      try {
        await keep({ ...record(id), ...end, ...counted, state, endedAtMs: Date.now() });
      } finally {
        for (const over of [...live.keys()]
          .filter((other) => !isGoing(other))
          .slice(0, -MOST_RECENT))
          live.delete(over);
        onChange();
      }
    }
  }

  function endOf(
    summary: Summary,
    only: ReadonlySet<number> | undefined,
  ): Pick<RunRecord, 'state' | 'lines' | 'statuses' | 'error'> {
    const state = summary.stopped ? 'stopped' : 'done';
    // Where some rows alone were asked about, all others count as known.
    const shown = only ? { ...summary, freshDomains: 0 } : summary;
    const lines = linesOfSummary(shown).map((line) => plainly(line, folder.path));
    const isUntouched = summary.stopped?.reason === 'misdirected';
    return { state, lines, error: undefined, ...(!isUntouched && { statuses: summary.statuses }) };
  }

  function endOfError(error: unknown): Pick<RunRecord, 'state' | 'lines' | 'error'> {
    if (error instanceof Error && error.name === 'AbortError') {
      const line =
        'Stopped before the rest was asked. What was paid for is kept: go on when you like.';
      return { state: 'stopped', lines: [line], error: undefined };
    }
    const { message } = refusalOf(error, folder.path);
    return { state: 'failed', lines: [message], error: message };
  }

  function isGoing(id: string): boolean {
    const state = records.get(id)?.state;
    return live.has(id) && (state === 'running' || state === 'asking');
  }

  return {
    all: () =>
      [...records.values()].sort((one, other) => other.startedAtMs - one.startedAtMs).map(show),
    find: (id) => show(record(id)),
    record,
    start: async (list, request) => {
      const { current } = connections;
      if (!current) throw new AppRefusal('NO_CONNECTION', 'Choose an API first, under Connect.');
      const { id: listId, name, kind } = lists.find(list);
      if (request.choice) await lists.choose(list, request.choice);
      const choice = lists.find(list).choice;
      lists.optionsOf(list, { ...request, choice }); // refuses before anything is kept
      const id = createId();
      const started = await launch({
        id,
        state: 'running',
        list: { id: listId, name },
        kind,
        connection: current,
        request: { ...request, choice },
        startedAtMs: Date.now(),
        calls: 0,
        charged: 0,
        lines: [],
      });
      return show(started);
    },
    ask: async (id, step) => {
      const of = record(id);
      const running = live.get(id);
      if (!show(of).steps.includes(step)) {
        throw new AppRefusal('NOT_NOW', FURTHER_ON);
      }
      if (step === 'go-on') {
        await launch({ ...of, endedAtMs: undefined });
        return;
      }
      if (!running) return;
      if (step === 'yes' || step === 'no') {
        running.answer?.(step === 'yes');
        return;
      }
      const refusal = applyAction(running.recorder.read(), running.control, step);
      if (refusal !== undefined) throw new AppRefusal('NOT_NOW', refusal);
      onChange();
    },
    mend: async (id, { cells }) => {
      const of = record(id);
      if (!show(of).canMend) {
        throw new AppRefusal('NOT_NOW', 'Cells can be corrected when the run is over.');
      }
      const valid = cells.filter(
        ({ row, value }) => Number.isInteger(row) && row > 0 && typeof value === 'string',
      );
      if (valid.length === 0) {
        throw new AppRefusal('INVALID_SETTING', 'Correct at least one cell first.');
      }
      const mended = Object.fromEntries(
        valid.map(({ row, value }) => [String(row), value.slice(0, 1_000)]),
      );
      const rows = new Set(valid.map(({ row }) => row));
      const changed = { ...of, endedAtMs: undefined, mended: { ...of.mended, ...mended } };
      return show(await launch(changed, rows));
    },
    remove: async (id) => {
      record(id);
      if (isGoing(id)) throw new AppRefusal('NOT_NOW', 'Stop the run first, then delete it.');
      await folder.remove(FOLDER, id);
      records.delete(id);
      live.delete(id);
      onChange();
    },
    isListNeeded: (list) =>
      [...records.values()].some((of) => of.list.id === list && isGoing(of.id)),
    board: () => ({
      runs: [...live].flatMap(([id, { recorder, counts }]) => {
        const of = records.get(id);
        return of ? [inWords(recorder.read(), of, counts)] : [];
      }),
      workers: [],
      schedules: [],
    }),
    fileOf: (id, which) => {
      const shown = show(record(id));
      return shown[which] && pathsOf(record(id))[which];
    },
    close: async () => {
      isClosing = true;
      for (const { control } of live.values()) control.stop();
      await Promise.all([...live.values()].map(({ ended }) => ended));
    },
  };
}

const ENDINGS: Readonly<Record<ListView['kind'], RegExp>> = {
  csv: /^\.(csv|tsv|tab|txt|text|asc|prn)(\.gz)?$/i,
  jsonl: /^\.(jsonl|ndjson|json)(\.gz)?$/i,
  xlsx: /^\.(xlsx|xlsm|xltx|xltm)$/i,
};

function hasFailures(statuses: Summary['statuses']): boolean {
  return Object.entries(statuses).some(([status, count]) => status !== 'found' && count > 0);
}

function stepsOfEnded({ state, statuses }: RunRecord): readonly RunStep[] {
  if (state !== 'done') return ['go-on'];
  const { failed = 0, pending = 0, skipped = 0, stale = 0 } = statuses ?? {};
  return failed + pending + skipped + stale > 0 ? ['go-on'] : [];
}

/**
 * What a run may still use. One that was cut off has used some of its bound; who goes on after a
 * bound was reached wants as much again.
 */
function boundsLeft({ request, state, charged, billed }: RunRecord): {
  readonly maxCalls?: number | undefined;
  readonly maxCost?: number | undefined;
} {
  const { maxCalls, maxCost } = request;
  if (state !== 'interrupted') return { maxCalls, maxCost };
  return {
    maxCalls: maxCalls === undefined ? undefined : Math.max(1, maxCalls - (charged % maxCalls)),
    maxCost:
      maxCost === undefined
        ? undefined
        : Math.max(0.000001, maxCost - ((billed?.units ?? 0) % maxCost)),
  };
}

type Counted = Pick<RunRecord, 'calls' | 'charged' | 'billed'>;

interface Counting {
  look(progress: {
    readonly calls: number;
    readonly throttled: number;
    readonly bill?: RunRecord['billed'];
  }): void;
  /** What all parts of the run used. */
  total(summary: Summary | undefined): Counted;
  /** Resolves when nothing is being noted. */
  settle(): Promise<void>;
}

/** Adds up what the parts of a run use, and notes it: bounds and the bill outlive the process. */
function createCounting(before: Counted, note: (counted: Counted) => Promise<void>): Counting {
  let now: Counted = before;
  let noted = performance.now();
  let noting: Promise<void> = Promise.resolve();

  function sum(calls: number, throttled: number, bill: RunRecord['billed']): Counted {
    const units = (before.billed?.units ?? 0) + (bill?.units ?? 0);
    const unit = bill?.unit ?? before.billed?.unit;
    return {
      calls: before.calls + calls,
      charged: before.charged + calls - throttled,
      ...(unit !== undefined && { billed: { units, unit } }),
    };
  }

  return {
    look: ({ calls, throttled, bill }) => {
      now = sum(calls, throttled, bill);
      if (performance.now() - noted < NOTE_EVERY_MS) return;
      noted = performance.now();
      noting = noting.then(async () => await note(now)).catch(() => {});
    },
    total: (summary) => (summary ? sum(summary.calls, summary.throttled, summary.bill) : now),
    settle: async () => await noting,
  };
}

/** A live run with the words of the page in place of those of a terminal. */
function inWords(
  { next: _, ...state }: RunState,
  { lines }: RunRecord,
  counts: string | undefined,
): RunState {
  const { failures, answers, notices, end } = state;
  return {
    ...state,
    failures: failures.map(({ domain, status, reason, httpStatus, atMs }) => ({
      domain: shownDomain(domain),
      status,
      reason: wordsOfReason(reason),
      httpStatus,
      atMs,
    })),
    answers: answers.map(({ domain, text }) => ({ domain: shownDomain(domain), text })),
    notices: notices.map((notice) => plainly(notice)),
    ...(end && { end: [...(counts === undefined ? [] : [counts]), ...lines] }),
  };
}

function viewOf({ domains, calls, bill, left }: Sampled, connection: SavedConnection): SampledView {
  return {
    domains: domains.map(({ domain, status, values }) => ({
      domain: shownDomain(domain),
      status,
      values,
    })),
    calls,
    cost: costFor(connection, { calls, bill }),
    left: {
      companies: left.lookups,
      calls: left.calls,
      cost: { ...costFor(connection, { calls: left.calls, bill: left.bill }) },
    },
  };
}
