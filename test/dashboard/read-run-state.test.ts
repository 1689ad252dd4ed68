import { describe, expect, it } from 'vitest';
import { createRunControl } from '../../src/common/run-control.ts';
import { createLiveRun } from '../../src/web/live-run.ts';
import { readRunState } from '../../src/web/show-queue.ts';
import { runState } from './boards.ts';

describe('the state of a run, as it was told', () => {
  it('is what a run tells at its start, under the id that it is known by', () => {
    const about = { id: 'told', host: 'here', pid: 1, startedAtMs: 0, schedule: undefined };
    const run = createLiveRun({ ...about, control: createRunControl() });
    const told = JSON.stringify(run.read());
    expect(readRunState('known', told)).toEqual({ ...JSON.parse(told), id: 'known' });
  });

  it.each([
    ['no JSON', '{"list": "li'],
    ['nothing', 'null'],
    ['of a phase that is not known', JSON.stringify({ ...runState(), phase: 'dreaming' })],
    [
      'without a number that is shown',
      JSON.stringify({ ...runState(), progress: { lookups: 9, done: 1 } }),
    ],
    ['without its failures', JSON.stringify({ ...runState(), failures: undefined })],
  ])('is not read where it is %s', (_, json) => {
    expect(readRunState('a', json)).toBeUndefined();
  });
});
