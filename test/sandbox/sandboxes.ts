import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';

/** What came of one call. */
export interface Got {
  status: number;
  headers: Headers;
  text: string;
}

/** Ask the sandbox about a domain. */
export async function ask(sandbox: Sandbox, domain: string, init?: RequestInit): Promise<Got> {
  return get(`${sandbox.url}/v1/brand?domain=${encodeURIComponent(domain)}`, init);
}

export async function get(url: string, init?: RequestInit): Promise<Got> {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Ask about many domains at once; a call without an answer has status 0. */
export function askAll(sandbox: Sandbox, domains: readonly string[]): Promise<Got[]> {
  const nothing = { status: 0, headers: new Headers(), text: '' };
  return Promise.all(domains.map((domain) => ask(sandbox, domain).catch(() => nothing)));
}

/**
 * Make a call that stays open, and wait until the sandbox works on it. `leave` waits until the sandbox has noticed;
 * several callers leave one after another, since it goes by how many calls are open.
 */
export async function openCall(
  sandbox: Sandbox,
  domain: string,
): Promise<{ leave(): Promise<void> }> {
  const leaving = new AbortController();
  const call = ask(sandbox, domain, { signal: leaving.signal });
  const ended = call.catch(() => {});
  const before = sandbox.callsOf(domain).calls;
  await expect.poll(() => sandbox.callsOf(domain).calls, { interval: 5 }).toBe(before + 1);
  return {
    async leave() {
      const open = sandbox.stats().concurrency.now;
      leaving.abort();
      await ended;
      await expect.poll(() => sandbox.stats().concurrency.now, { interval: 5 }).toBeLessThan(open);
    },
  };
}
