import { expect, it } from 'vitest';
import { chooseStyle } from '../../../src/watch/log.ts';
import { openProgressView } from '../../../src/watch/views.ts';
import { PROGRESS } from '../progress.ts';

it.each([
  ['auto', true, 'xterm-256color', 'bar'],
  ['auto', true, undefined, 'bar'],
  ['auto', true, 'dumb', 'lines'],
  ['auto', false, 'xterm-256color', 'lines'],
  ['bar', true, 'xterm', 'bar'],
  ['bar', true, 'dumb', 'lines'],
  ['bar', false, 'xterm', 'lines'],
  ['lines', true, 'xterm', 'lines'],
  ['none', true, 'xterm', 'none'],
] as const)(
  'wished for %s, on a terminal: %s, with TERM %s, it is %s',
  (wish, isTTY, TERM, style) => {
    expect(chooseStyle(wish, { isTTY, env: { TERM } })).toBe(style);
  },
);

it('shows nothing where nothing is wished', async () => {
  const written: string[] = [];
  const stream = { isTTY: true, write: (text: string) => written.push(text) > 0 };
  const view = await openProgressView('none', stream as unknown as NodeJS.WriteStream);
  view.show({ ...PROGRESS, elapsedMs: 60_000 });
  view.end();
  expect(written).toEqual([]);
});
