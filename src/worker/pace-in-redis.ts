import { exchange, type Said, type SharedState } from './shared-pace.ts';

// What Redis gives to a script.
declare const KEYS: readonly [string];
declare const ARGV: readonly [string];
declare const redis: { readonly call: (this: void, ...command: readonly string[]) => unknown };
declare const cjson: {
  readonly encode: (this: void, value: unknown) => string;
  readonly decode: (this: void, text: string) => unknown;
};
declare const tonumber: (this: void, text: string) => number;

const KEPT_MS = 30 * 86_400_000;

/**
 * The script that keeps the pace in Redis. It runs there alone, as Lua that `npm run make:lua`
 * makes of it.
 *
 * KEYS: the state. ARGV: what a worker says, as JSON; `clockMs` instead of the time of Redis, in
 * tests.
 *
 * @returns the state and what is granted, both as JSON
 */
export function answer(): readonly [state: string, granted: string] {
  const said = cjson.decode(ARGV[0]) as Said & { readonly clockMs?: number };
  const kept = redis.call('GET', KEYS[0]);
  const { state, granted } = exchange(
    kept === false ? undefined : (cjson.decode(kept as string) as SharedState),
    said,
    said.clockMs ?? timeMs(),
  );
  const text = cjson.encode(state);
  redis.call('SET', KEYS[0], text, 'PX', `${KEPT_MS}`);
  return [text, cjson.encode(granted)];
}

function timeMs(): number {
  const [seconds, micros] = redis.call('TIME') as [string, string];
  return tonumber(seconds) * 1_000 + Math.floor(tonumber(micros) / 1_000);
}
