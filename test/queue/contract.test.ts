import { describe, expect, it } from 'vitest';
import { addresseeOf, parseLookups } from '../../src/queue/bullmq/contract.ts';

function chunkFor(replyTo: string): object {
  return { v: 1, domains: ['acme.com'], replyTo };
}

describe('the queue that gets the outcomes', () => {
  it.each(['crm.outcomes', 'outcomes', 'run-4711', 'lookups-crm', 'schedule'])(
    'may be %s',
    (replyTo) => {
      expect(parseLookups(chunkFor(replyTo))).toEqual(chunkFor(replyTo));
    },
  );

  it.each(['lookups', 'schedule-nightly', 'a:b', ''])('may not be %j', (replyTo) => {
    expect(parseLookups(chunkFor(replyTo))).toContain("breaks the contract: 'replyTo': ");
    expect(addresseeOf(chunkFor(replyTo), 'chunk').replyTo).toBeUndefined();
  });
});

describe('why a chunk is refused', () => {
  it.each(['4711-abc', 'part-abc'])('is told to the run that chunk %s is of', (chunk) => {
    expect(addresseeOf(chunkFor('run-4711'), chunk).replyTo).toBe('run-4711');
  });

  it.each(['1', '47-abc', 'crm-4711-abc'])('is told to no run that chunk %s is not of', (chunk) => {
    expect(addresseeOf(chunkFor('run-4711'), chunk).replyTo).toBeUndefined();
  });
});
