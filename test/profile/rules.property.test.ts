import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResponseHeaders } from '../../src/brand/transport.ts';
import type { RuleFile } from '../../src/profile/profile-schema.ts';
import { compileBilling } from '../../src/profile/read-profile.ts';
import { compileRules } from '../../src/profile/rules.ts';

const EXPRESSIONS = [
  'error',
  'error.code',
  "contains(error, 'a')",
  'length(a) > `1`',
  'sum(a)',
  '@[0].b',
];

const rule: fc.Arbitrary<RuleFile> = fc.record({
  when: fc.record(
    {
      status: fc.constantFrom(404, '400-499', [200, '500-599']),
      header: fc.constantFrom({ name: 'X-A' }, { name: 'x-a', pattern: '^[0-9]+$' }),
      body: fc.constantFrom(...EXPRESSIONS),
    },
    { requiredKeys: [] },
  ),
  means: fc.constantFrom('found', 'pending', 'quota', 'retry'),
  wait: fc.constantFrom(undefined, '5s', { header: 'x-a' }, { body: 'error.code' }),
  reason: fc.constantFrom(undefined, ...EXPRESSIONS),
});

const facts = fc.record({
  httpStatus: fc.constantFrom(200, 404, 429, 503),
  headers: fc.constantFrom<ResponseHeaders>({}, { 'x-a': '12' }, { 'x-a': ['1', 'two'] }),
  body: fc.option(
    fc.oneof(
      fc.jsonValue(),
      fc.record({ error: fc.jsonValue(), a: fc.jsonValue() }),
      fc.constant({ error: { code: 'a' }, a: [1, 2] }),
    ),
    { nil: undefined },
  ),
});

describe('rules', () => {
  it('say the same as the first of them that fits alone, whatever comes, and never throw', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), facts, (rules, { body, ...given }) => {
        const answer = {
          ...given,
          json: () => body as unknown,
          nowMs: 0,
        };
        const together = compileRules(rules)(answer);
        const alone = rules.map((one) => compileRules([one])(answer));
        const first = alone.findIndex((meaning) => meaning !== undefined);
        expect(together).toEqual(first === -1 ? undefined : { ...alone[first], rule: first + 1 });
        if (together?.waitMs !== undefined) expect(together.waitMs).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('leave what an answer cost a whole number of millionths, whatever it says', () => {
    fc.assert(
      fc.property(facts, ({ body, ...given }) => {
        for (const cost of [{ header: 'x-a' }, { body: 'error' }, { body: 'sum(a)' }]) {
          const billing = compileBilling({ unit: 'credits', price: 0.1, cost });
          const answer = {
            ...given,
            json: () => body as unknown,
            nowMs: 0,
          };
          const micros = billing.costOf({ kind: 'found' }, answer);
          expect(Number.isSafeInteger(micros) && micros >= 0).toBe(true);
        }
      }),
    );
  });
});
