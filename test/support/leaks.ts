import { createHook } from 'node:async_hooks';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { openFilesIn } from './descriptors.ts';

// A test file leaves nothing behind: no timer, socket, server or process that keeps the event loop
// going, no listener on the process, no temporary file, and none open. Test files share processes, so
// what one leaves is a riddle in another.

/**
 * How long what was closed may take to be gone: a connection that is being opened, until that times
 * out. Only a file that leaves something waits for it.
 */
const SETTLE_MS = 10_000;
const LOOK_EVERY_MS = 10;

/** What keeps the event loop going and is ours but for timers, by the names that Node.js has for it. */
const KINDS: Readonly<Record<string, string>> = {
  TCPServerWrap: 'server',
  TCPSocketWrap: 'socket',
  TLSWrap: 'TLS socket',
  UDPWRAP: 'UDP socket',
  PipeServerWrap: 'server on a Unix socket',
  PipeWrap: 'pipe or Unix socket',
  ProcessWrap: 'process',
  FSEventWrap: 'watched file',
  Worker: 'thread',
};

/** What cannot be avoided, by the words for it. */
const ALLOWED: readonly { readonly what: RegExp; readonly in?: string; readonly why: string }[] = [
  {
    what: /^a listener for 'exit' on process \(function \(\) \{ \[native code\] \}\)$/,
    why: 'lmdb has one of its own, bound, from its first environment on',
  },
  { what: /\/tsx-\d+$/, why: 'tsx keeps there what it has compiled, for all processes to come' },
  {
    what: /\.mdb \(deleted\), which is open$/,
    in: 'test/store/writes.test.ts',
    why: 'a store that could not be written stays open: lmdb would wait for its commit for ever',
  },
];

/** Test files of one worker share its folder, and the timers that are known. */
const KEY = Symbol.for('brandfill temporary folder');
const TIMERS = Symbol.for('brandfill timers');

const folder = useOwnTemporaryFolder();
const timers = useTimers();
let before: Map<unknown, string>;

beforeAll(() => {
  before = look();
});

afterAll(async () => {
  const file = relative('.', expect.getState().testPath ?? '');
  const untilMs = performance.now() + SETTLE_MS;
  let left = leftBy(file);
  while (left.length > 0 && performance.now() < untilMs) {
    await delay(LOOK_EVERY_MS);
    left = leftBy(file);
  }
  if (left.length === 0) return;
  throw new Error(
    `${file} left behind: ${left.join(', ')}. Close or remove it when the test ends.`,
  );
}, 2 * SETTLE_MS);

function leftBy(file: string): string[] {
  return [...look()]
    .filter(([what]) => !before.has(what))
    .map(([, words]) => words)
    .filter((words) => !ALLOWED.some((one) => one.what.test(words) && (one.in ?? file) === file));
}

/** All that is there, each by something that tells it from the rest, with words for it. */
function look(): Map<unknown, string> {
  const found = new Map<unknown, string>();
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    const word = KINDS[kind];
    if (word === undefined) continue;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    found.set(`${kind} ${count}`, `a ${word}`);
  }
  for (const [timer, words] of timers()) found.set(timer, words);
  for (const event of process.eventNames()) {
    for (const listener of process.rawListeners(event)) {
      found.set(listener, `a listener for '${String(event)}' on process (${String(listener)})`);
    }
  }
  for (const path of openFilesIn(folder)) found.set(`open ${path}`, `${path}, which is open`);
  for (const name of readdirSync(folder)) found.set(`there ${name}`, join(folder, name));
  return found;
}

/** A temporary folder of its own: threads share the process, and so its open files. */
function useOwnTemporaryFolder(): string {
  const known: unknown = Reflect.get(globalThis, KEY);
  if (typeof known === 'string') return known;
  const own = mkdtempSync(join(tmpdir(), 'w-'));
  Reflect.set(globalThis, KEY, own);
  process.env['TMPDIR'] = own;
  return own;
}

/** The fields of a timer that say what becomes of it. Node.js has no others. */
interface Timer {
  readonly _destroyed: boolean;
  readonly _idleTimeout: number;
  hasRef(): boolean;
}

/**
 * Finds the timers that keep the event loop going, with where they were started: a number of them
 * (`getActiveResourcesInfo`) says neither whose they are nor since which file they are there.
 */
function useTimers(): () => readonly (readonly [timer: Timer, words: string])[] {
  const known: unknown = Reflect.get(globalThis, TIMERS);
  if (typeof known === 'function') return known as ReturnType<typeof useTimers>;
  const started = new Map<WeakRef<Timer>, Error>();
  createHook({
    init: (_, type, __, resource) => {
      if (type !== 'Timeout') return;
      started.set(new WeakRef(resource as Timer), new Error('started'));
    },
  }).enable();
  const find = (): readonly (readonly [Timer, string])[] => {
    const found: [Timer, string][] = [];
    for (const [ref, at] of started) {
      const timer = ref.deref();
      if (!timer || timer._destroyed) started.delete(ref);
      else if (timer.hasRef()) found.push([timer, describeTimer(timer, at.stack ?? '')]);
    }
    return found;
  };
  Reflect.set(globalThis, TIMERS, find);
  return find;
}

function describeTimer({ _idleTimeout: ms }: Timer, stack: string): string {
  const place = stack
    .split('\n')
    .find((line) => /[/\\](src|test)[/\\](?!support[/\\]leaks)/.test(line));
  return `a timer of ${ms} ms, started ${place?.trim() ?? 'by a package'}`;
}
