/**
 * Outcomes on their way through Redis. Workers append them to a stream as they come, in batches; they
 * stay there until whoever waits for them has stored them.
 *
 *   of a run:       worker ─report─► gathered ─2 ms─► stream of the run ─read─► stored ─► removed
 *   of a collector: worker ─report─► gathered ─2 ms─► stream of the chunk ─► one reply when it is done
 *
 * With what it appends to the stream of a run, a worker notes which domains of the chunk are done, so that
 * a worker that takes over the chunk does not ask about them again. It finds the outcomes of a chunk that
 * no run waits for in the stream itself.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Shape } from '../../../brand/shape.ts';
import { createChange } from '../../../common/run-control.ts';
import type { OutcomeData } from '../contract.ts';
import { doneKey, KEPT_MS, ledgerKey, logKey, runStreamKey } from '../names.ts';
import type { CallNote } from '../runs/run-calls.ts';
import { createScript, type RedisClient } from '../server/redis.ts';

/** An outcome with the columns of its answer, which spares readers from parsing the answer. */
export interface StreamedOutcome {
  readonly data: OutcomeData;
  readonly shape: Shape | undefined;
}

/** A batch of outcomes as it is read. */
export interface StreamEntry {
  /** Its place in the stream. */
  readonly id: string;
  readonly outcomes: readonly StreamedOutcome[];
  /** What the run does not learn from the outcomes. */
  readonly note: CallNote | undefined;
}

/** Appends outcomes to streams. */
export interface OutcomeStreams {
  /**
   * Gathers outcomes, and appends them within some milliseconds. Resolves when Redis has them, however
   * long Redis refuses them, or when it turns out that their run is over.
   */
  report(report: Report): Promise<void>;
  /** Waits while very many outcomes are not acknowledged by Redis. */
  room(): Promise<void>;
}

export interface Report {
  readonly chunk: string;
  /** The run that waits for the chunk. @default none, and the outcomes go to the stream of the chunk */
  readonly runId?: string | undefined;
  readonly outcomes: readonly StreamedOutcome[];
  /** Asked, when the batch is sent, for what the run does not learn from the outcomes. @default nothing */
  readonly takeNote?: (() => CallNote | undefined) | undefined;
}

/**
 * KEYS: the stream, the ledger of the run, and for each chunk where it is noted what is done.
 * ARGV: how long to keep them in milliseconds, the entry, and for each chunk its id and the domains.
 * Returns 0 when the run is over, or a Redis that lost everything has not been told of it yet.
 */
const APPEND_TO_RUN = `
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
redis.call('XADD', KEYS[1], '*', 'o', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
for at = 3, #KEYS do
  if redis.call('HEXISTS', KEYS[2], ARGV[2 * at - 3]) == 1 then
    redis.call('APPEND', KEYS[at], ARGV[2 * at - 2])
    redis.call('PEXPIRE', KEYS[at], ARGV[1])
  end
end
return 1
`;

/** KEYS: the stream. ARGV: how long to keep it in milliseconds, the entry. */
const APPEND_TO_CHUNK = `
redis.call('XADD', KEYS[1], '*', 'o', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`;

/** How long outcomes gather. A process that is killed loses no more than these milliseconds. */
const GATHER_MS = 2;
/** A batch is sent when it is about this large, however much has gathered. */
const MOST_CHARACTERS = 1024 * 1024;
/** With more than these, callers wait: a Redis that is away must not fill memory. */
const MOST_UNACKNOWLEDGED = 500;
const RETRY_MS = 500;
/** A run whose Redis lost everything announces itself again within these tries. */
const MOST_TRIES_WITHOUT_RUN = 12;

export function createOutcomeStreams(client: RedisClient): OutcomeStreams {
  const appendToRun = createScript(client, APPEND_TO_RUN);
  const appendToChunk = createScript(client, APPEND_TO_CHUNK);
  /** Batches that are not sent yet, by stream. The last one gathers. */
  const unsent = new Map<string, Batch[]>();
  const change = createChange();
  let unacknowledged = 0;

  function batchOf({ chunk, runId }: Report): Batch {
    const stream = runId === undefined ? logKey(chunk) : runStreamKey(runId);
    const batches = unsent.get(stream);
    const last = batches?.at(-1);
    if (last && last.characters < MOST_CHARACTERS) return last;
    const batch = createBatch(runId);
    if (batches) batches.push(batch);
    else {
      const first = [batch];
      unsent.set(stream, first);
      void sendAll(stream, first);
    }
    return batch;
  }

  async function sendAll(stream: string, batches: Batch[]): Promise<void> {
    while (batches.length > 0) {
      if (batches.length === 1) await delay(GATHER_MS);
      const batch = batches.shift();
      if (!batch) break;
      await send(stream, batch);
      unacknowledged -= batch.outcomes;
      batch.acknowledge();
      change.notify();
    }
    unsent.delete(stream);
  }

  async function send(stream: string, batch: Batch): Promise<void> {
    const entry = batch.encode();
    for (let tries = 0; tries < MOST_TRIES_WITHOUT_RUN; ) {
      try {
        if (await append(stream, batch, entry)) return;
        tries += 1;
      } catch {
        // Redis refuses it for now. It was paid for.
      }
      await delay(RETRY_MS);
    }
  }

  async function append(stream: string, { runId, done }: Batch, entry: string): Promise<boolean> {
    if (runId === undefined) return (await appendToChunk([stream], [KEPT_MS, entry])) === 1;
    const keys = [stream, ledgerKey(runId), ...[...done.keys()].map(doneKey)];
    return (await appendToRun(keys, [KEPT_MS, entry, ...[...done].flat()])) === 1;
  }

  return {
    report: (report) => {
      unacknowledged += report.outcomes.length;
      const batch = batchOf(report);
      batch.add(report);
      return batch.acknowledged;
    },
    room: async () => {
      while (unacknowledged > MOST_UNACKNOWLEDGED) await change.wait();
    },
  };
}

interface Batch {
  readonly runId: string | undefined;
  readonly outcomes: number;
  readonly characters: number;
  /** The domains that are done, each with a line end, by chunk. */
  readonly done: ReadonlyMap<string, string>;
  add(report: Report): void;
  encode(): string;
  readonly acknowledged: Promise<void>;
  readonly acknowledge: () => void;
}

/**
 * An entry is a line of JSON with all but the answers, then the answers as they came, one after the other.
 * JSON within JSON would be slow to write and to read. A shape is spelled out where it first occurs.
 */
function createBatch(runId: string | undefined): Batch {
  const heads: string[] = [];
  const answers: string[] = [];
  const spelled = new Set<Shape>();
  const done = new Map<string, string>();
  const noting = new Set<() => CallNote | undefined>();
  let characters = 0;
  let acknowledge = (): void => {};
  const acknowledged = new Promise<void>((resolve) => {
    acknowledge = resolve;
  });

  function spellOut(shape: Shape | undefined): Shape | undefined {
    if (shape === undefined || spelled.has(shape)) return undefined;
    spelled.add(shape);
    return shape;
  }

  return {
    runId,
    get outcomes() {
      return heads.length;
    },
    get characters() {
      return characters;
    },
    done,
    add: ({ chunk, outcomes, takeNote }) => {
      if (takeNote) noting.add(takeNote);
      for (const { data, shape } of outcomes) {
        const { json } = data;
        const head: OutcomeHead = {
          domain: data.domain,
          given: data.given,
          status: data.status,
          reason: data.reason,
          httpStatus: data.httpStatus,
          attempts: data.attempts,
          throttled: data.throttled,
          billedMicros: data.billedMicros,
          retryAfterMs: data.retryAfterMs,
          fetchedAtMs: data.fetchedAtMs,
          size: json.length,
          shape: shape && nameOf(shape),
          paths: spellOut(shape),
        };
        heads.push(JSON.stringify(head));
        answers.push(json);
        characters += json.length;
        if (runId !== undefined) done.set(chunk, `${done.get(chunk) ?? ''}${data.domain}\n`);
      }
    },
    encode: () => {
      const note = sumOf([...noting].flatMap((take) => take() ?? []));
      const noted = note ? `"note":${JSON.stringify(note)},` : '';
      return `{${noted}"outcomes":[${heads.join(',')}]}\n${answers.join('')}`;
    },
    acknowledged,
    acknowledge: () => acknowledge(),
  };
}

function sumOf(all: readonly CallNote[]): CallNote | undefined {
  if (all.length === 0) return undefined;
  const sum = { calls: 0, throttled: 0, retries: 0, billedMicros: 0 };
  let usedUp: CallNote['usedUp'];
  for (const note of all) {
    sum.calls += note.calls;
    sum.throttled += note.throttled;
    sum.retries += note.retries;
    sum.billedMicros += note.billedMicros;
    if (note.usedUp) usedUp = Object.assign(usedUp ?? {}, note.usedUp);
  }
  return usedUp ? { ...sum, usedUp } : sum;
}

/** Reads entries of streams. Shapes are the same objects in all of them. */
export interface StreamReader {
  /** Reads what is in a stream, from its beginning. */
  readonly readAll: (stream: string) => Promise<readonly StreamEntry[]>;
  readonly decode: (entries: readonly RawEntry[]) => readonly StreamEntry[];
}

/** The id of an entry, and its fields and their values. */
export type RawEntry = readonly [id: string, fields: readonly string[]];

export function createStreamReader(client: RedisClient): StreamReader {
  const shapes = new KnownShapes();

  function decodeOne([id, [, text = '']]: RawEntry): StreamEntry {
    const end = text.indexOf('\n');
    const { outcomes, note } = JSON.parse(text.slice(0, end)) as EntryHead;
    let at = end + 1;
    return {
      id,
      note,
      outcomes: outcomes.map((head) => {
        const { size, shape, paths } = head;
        const json = text.slice(at, at + size);
        at += size;
        return {
          data: dataOf(head, json),
          shape: shape === undefined ? undefined : shapes.find(shape, paths),
        };
      }),
    };
  }

  const decode: StreamReader['decode'] = (entries) => entries.map(decodeOne);
  return { decode, readAll: async (stream) => decode(await client.xrange(stream, '-', '+')) };
}

interface EntryHead {
  readonly note?: CallNote;
  readonly outcomes: readonly OutcomeHead[];
}

/** An outcome without its answer. */
type OutcomeHead = Omit<OutcomeData, 'json'> & {
  /** How many characters of the answers are its own. */
  readonly size: number;
  /** The name of the columns of its answer. All workers use the same name for the same columns. */
  readonly shape?: string | undefined;
  /** The columns themselves, where they first occur in an entry. */
  readonly paths?: Shape | undefined;
};

/** Written out, as is its counterpart: with rests and spreads it takes several times as long. */
function dataOf(head: OutcomeHead, json: string): OutcomeData {
  return {
    domain: head.domain,
    given: head.given,
    status: head.status,
    reason: head.reason,
    httpStatus: head.httpStatus,
    attempts: head.attempts,
    throttled: head.throttled,
    billedMicros: head.billedMicros,
    retryAfterMs: head.retryAfterMs,
    fetchedAtMs: head.fetchedAtMs,
    json,
  };
}

/** Past this many shapes, or paths in them, all known names are forgotten. */
const MOST_KNOWN = 10_000;
const MOST_PATHS = 200_000;
const HASH_LENGTH = 16;

const names = new WeakMap<Shape, string>();

function nameOf(shape: Shape): string {
  const known = names.get(shape);
  if (known !== undefined) return known;
  const hash = createHash('sha256').update(JSON.stringify(shape)).digest('base64url');
  const name = hash.slice(0, HASH_LENGTH);
  names.set(shape, name);
  return name;
}

/**
 * Shapes by name, one object for each, so that maps can be keyed by shape without looking into it.
 */
class KnownShapes {
  readonly #shapes = new Map<string, Shape>();
  #paths = 0;

  /** @param paths the shape, if its entry spells it out */
  find(name: string, paths: Shape | undefined): Shape | undefined {
    const known = this.#shapes.get(name);
    if (known || !paths) return known;
    this.#paths += paths.length;
    if (this.#shapes.size >= MOST_KNOWN || this.#paths > MOST_PATHS) {
      this.#shapes.clear();
      this.#paths = paths.length;
    }
    this.#shapes.set(name, paths);
    return paths;
  }
}
