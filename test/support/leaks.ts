import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { openFilesIn } from './descriptors.ts';

// A test file leaves nothing behind: no timer, socket, server or process that keeps the event loop
// going, no listener on the process, no temporary file, and none open. Test files share processes,
// so what one leaves is a riddle in another.

/**
 * How long what was closed may take to be gone: a connection that is being opened, until that times
 * out. Only a file that leaves something waits for it.
 */
const SETTLE_MS = 10_000;
const LOOK_EVERY_MS = 10;

/** What keeps the event loop going and is ours, by the names that Node.js has for it. */
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
  Timeout: 'timer',
};

/** What cannot be avoided, by the words for it. */
const ALLOWED: readonly { readonly what: RegExp; readonly why: string }[] = [
  {
    what: /^a listener for 'exit' on process \(function \(\) \{ \[native code\] \}\)$/,
    why: 'lmdb has one of its own, bound, from its first environment on',
  },
  { what: /\/tsx-\d+$/, why: 'tsx keeps there what it has compiled, for all processes to come' },
];

/** Test files of one worker share its folder. */
const KEY = Symbol.for('brandfill temporary folder');

const folder = useOwnTemporaryFolder();
let before: Map<unknown, string>;

beforeAll(() => {
  before = look();
});

afterAll(async () => {
  const file = relative('.', expect.getState().testPath ?? '');
  const untilMs = performance.now() + SETTLE_MS;
  let left = findLeft();
  while (left.length > 0 && performance.now() < untilMs) {
    await delay(LOOK_EVERY_MS);
    left = findLeft();
  }
  if (left.length === 0) return;
  throw new Error(
    `${file} left behind: ${left.join(', ')}. Close or remove it when the test ends.`,
  );
}, 2 * SETTLE_MS);

function findLeft(): string[] {
  return [...look()]
    .filter(([what]) => !before.has(what))
    .map(([, words]) => words)
    .filter((words) => !ALLOWED.some((one) => one.what.test(words)));
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
