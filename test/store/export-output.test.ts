import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openExportOutput } from '../../src/commands/store.ts';

it('waits for whoever reads standard output, and listens for nothing any more when that is over', async () => {
  const stdout = new PassThrough({ highWaterMark: 1 });
  const before = ['drain', 'close', 'error'].map((event) => stdout.listenerCount(event));
  const spy = vi.spyOn(process, 'stdout', 'get').mockReturnValue(stdout as never);
  onTestFinished(() => spy.mockRestore());
  const output = await openExportOutput('-');
  for (const line of ['one\n', 'two\n']) {
    const written = output.write(line);
    expect(String(stdout.read())).toBe(line);
    await written;
  }
  expect(['drain', 'close', 'error'].map((event) => stdout.listenerCount(event))).toEqual(before);
});
