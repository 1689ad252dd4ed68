import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OutcomeStore } from '../../src/store/store.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { openStore, outcomeOf, useStore } from './outcomes.ts';

/** The longest domain there is. */
const LONGEST =
  ['a', 'b', 'c'].map((letter) => letter.repeat(63)).join('.') + `.${'d'.repeat(57)}.com`;

describe('the store', () => {
  it('gives back what was put, also after it was closed and opened again', async () => {
    const folder = join(useTempFolder(), 'a', 'b');
    const none = { json: '', reason: 'http_422' };
    const outcomes = [
      outcomeOf('long.com', { json: `{"a":"${'é'.repeat(5_000)}"}` }),
      outcomeOf(LONGEST, { json: '{}' }),
      outcomeOf('none.com', { ...none, status: 'not_found', httpStatus: 404 }),
      outcomeOf('bad.com', { ...none, status: 'rejected', httpStatus: 422, said: 'nö' }),
      outcomeOf('lost.com', { ...none, status: 'failed', httpStatus: undefined }),
    ];
    const check = (store: OutcomeStore): void => {
      for (const outcome of [...outcomes, ...outcomes.toReversed()]) {
        expect(store.find(outcome.domain)).toEqual(outcome);
        expect(store.findHead(outcome.domain)).toMatchObject({
          status: outcome.status,
          fetchedAtMs: outcome.fetchedAtMs,
        });
      }
    };
    const first = await openStore(folder, 'endpoint', { isBeside: true });
    await Promise.all(outcomes.map((outcome) => first.put(outcome)));
    check(first);
    await first.flush();
    await first.close();
    check(await useStore(folder));
  });

  it('is flushed once all is on the disk that was put, also what nobody waits for', async () => {
    const store = await useStore(useTempFolder());
    let count = 0;
    for (const domain of ['acme.com', 'bolt.com']) {
      void store.put(outcomeOf(domain)).then(() => {
        count += 1;
      });
    }
    await store.flush();
    expect(count).toBe(2);
  });

  it.each(['failed', 'pending'] as const)('never lets %s replace an answer', async (status) => {
    const folder = useTempFolder();
    const store = await openStore(folder, 'endpoint', { isBeside: true });
    const answer = outcomeOf('acme.com', { fetchedAtMs: 1_000 });
    const failure = outcomeOf('acme.com', { status, fetchedAtMs: 2_000, json: '' });
    await store.put(answer);
    await store.put(failure);
    expect(store.find('acme.com')).toEqual(failure);
    const again = { ...answer, fetchedAtMs: 3_000 };
    await store.put(again);
    expect(store.find('acme.com')).toEqual(again);
    expect(store.findHead('acme.com')).toMatchObject({ status: 'found', fetchedAtMs: 3_000 });
    await store.close();
    expect((await useStore(folder)).find('acme.com')).toEqual(again);
  });

  it.each([
    ['is the newer, though put first', 'failed', 1_000, 3_000],
    ['is the answer where both are of one time', 'failed', 2_000, 3_000],
    ['is the answer where a wrong clock has dated the failure before it later', 'failed', 9_000, 0],
  ] as const)('the latest outcome %s', async (_, status, failedAtMs, laterMs) => {
    const store = await useStore(useTempFolder());
    const failure = outcomeOf('acme.com', { status, fetchedAtMs: failedAtMs, json: '' });
    const answer = outcomeOf('acme.com', { fetchedAtMs: 2_000 });
    for (const outcome of laterMs ? [answer, failure] : [failure, answer]) await store.put(outcome);
    expect(store.find('acme.com')).toEqual(answer);
    expect(store.findHead('acme.com')?.status).toBe('found');
  });
});
