import { expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { forgetReported } from '../../src/store/reported.ts';
import { useTempFolder } from '../support/temp-folder.ts';
import { openStore } from './outcomes.ts';

const DAY_MS = 86_400_000;
const textOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString();

it('what was reported of rows counts once it is committed, whole, and apart for each output', async () => {
  const folder = useTempFolder();
  const first = await openStore(folder, 'api');
  const rows = first.reported('one');
  for (let row = 0; row < 12_000; row += 1) rows.put(`row ${row}`, Buffer.from(`value ${row}`));
  expect([rows.find('row 1'), [...rows.keys()]]).toEqual([undefined, []]);
  await rows.commit();
  expect(textOf(rows.find('row 11999'))).toBe('value 11999');
  expect([...first.reported('other').keys()]).toEqual([]);

  // A run that ends before it commits.
  const lost = first.reported('one');
  lost.put('row 1', Buffer.from('lost'));
  lost.remove('row 2');
  await first.close();

  const again = await openStore(folder, 'api');
  onTestFinished(() => again.close());
  const next = again.reported('one');
  expect([textOf(next.find('row 1')), textOf(next.find('row 2'))]).toEqual(['value 1', 'value 2']);
  next.remove('row 3');
  await next.commit();
  expect(textOf(next.find('row 1'))).toBe('value 1');
  expect(next.find('row 3')).toBeUndefined();
  expect([...next.keys()]).toHaveLength(11_999);
});

it('what was reported of an output that is not written any more is pruned', async () => {
  const folder = useTempFolder();
  const store = await openStore(folder, 'api');
  onTestFinished(() => store.close());
  const clock = vi.spyOn(Date, 'now').mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
  for (const [id, day] of Object.entries({ one: 0, two: 300 })) {
    clock.mockReturnValue(day * DAY_MS);
    const rows = store.reported(id);
    rows.put('row', Buffer.from('value'));
    await rows.commit();
  }
  clock.mockReturnValue(420 * DAY_MS);
  const database = await openDatabase(folder, { isBeside: true });
  onTestFinished(() => database.close());
  expect(await forgetReported(database, 150 * DAY_MS)).toBe(1);
  expect([...database.reported.getKeys()]).toEqual(['two=row']);
});
