import { expect, it } from 'vitest';
import { describeInput } from '../../src/watch/describe.ts';

it('columns of one name are told apart by their place', () => {
  const others = [
    { index: 0, name: 'Website' },
    { index: 2, name: 'E-Mail' },
  ];
  const column = { index: 1, name: 'Website', by: 'name', example: undefined, others } as const;
  expect(describeInput({ type: 'opened', input: 'list.csv', format: 'CSV', column })).toContain(
    "           also possible: 'Website' (column 1), 'E-Mail'; --domain-column takes another",
  );
});
