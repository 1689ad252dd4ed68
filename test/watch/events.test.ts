import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/brand/outcome.ts';
import { createReadingReporter, createRecentOutcomes } from '../../src/watch/events.ts';

function outcome(domain: string, status: Outcome['status'], json = ''): Outcome {
  return { domain, status, reason: 'why', httpStatus: 500, attempts: 1, fetchedAtMs: 5, json };
}

describe('recent outcomes', () => {
  it('keep the last failures, the latest first', () => {
    const recent = createRecentOutcomes();
    for (let at = 0; at < 30; at += 1) recent.note(outcome(`d${at}.com`, 'failed'));
    recent.note(outcome('r.com', 'rejected'));
    recent.note(outcome('n.com', 'not_found'));
    expect(recent.failures).toHaveLength(20);
    expect(recent.failures[0]).toMatchObject({
      domain: 'r.com',
      status: 'rejected',
      reason: 'why',
    });
    expect(recent.failures.at(-1)?.domain).toBe('d11.com');
  });

  it('keep an answer when a sample is wanted, and no other', () => {
    const recent = createRecentOutcomes();
    recent.note(outcome('a.com', 'found', '{"a":1}'));
    recent.note(outcome('b.com', 'found', '{"b":1}'));
    recent.sample();
    recent.note(outcome('c.com', 'found', '{"c":1}'));
    expect(recent.answers.map(({ domain }) => domain)).toEqual(['c.com', 'a.com']);
  });

  it('hold no answer that is very long', () => {
    const recent = createRecentOutcomes();
    recent.note(outcome('a.com', 'found', ' '.repeat(30_000)));
    expect(recent.answers).toEqual([]);
  });
});

const LIST = { name: 'big.csv', sizeBytes: 2_000_000_000 };

it('says how far a long reading is, ever less often, until something else does', () => {
  const notices: string[] = [];
  let nowMs = 500;
  const reporter = createReadingReporter({
    onNotice: (message) => notices.push(message),
    now: () => nowMs,
  });
  for (const seconds of [1, 9.9, 10, 11, 19, 20, 39, 41, 100]) {
    nowMs = 500 + seconds * 1_000;
    const fileBytes = seconds * 10_000_000;
    reporter.onRead({ ...LIST, fileBytes, plainBytes: fileBytes });
    if (seconds === 41) reporter.end();
  }
  expect(notices).toEqual([
    'Reading big.csv: 5% of it, 100 MB so far.',
    'Reading big.csv: 10% of it, 200 MB so far.',
    'Reading big.csv: 20% of it, 410 MB so far.',
  ]);
});
