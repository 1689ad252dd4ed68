import { expect, it } from 'vitest';
import type { Log, LogFields } from '../../../src/watch/log.ts';
import { createLogView } from '../../../src/watch/views.ts';
import { summaryOf } from '../../report/recordings.ts';

it('rows that are written are told of before the run is finished', () => {
  const written: LogFields[] = [];
  const log: Pick<Log, 'write'> = { write: (_, __, fields = {}) => void written.push(fields) };
  const view = createLogView(log as Log, 'auto');
  view.show({ type: 'writing', rows: 10 });
  view.show({ type: 'rows', written: 10, total: 10, elapsedMs: 1_000 });
  view.finish(summaryOf());
  view.end();
  expect(written).toMatchObject([
    { event: 'writing' },
    { event: 'rows', written: 10, total: 10 },
    { event: 'finished' },
  ]);
});
