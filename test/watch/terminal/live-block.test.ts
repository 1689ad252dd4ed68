import { describe, expect, it } from 'vitest';
import { createLiveBlock, type Frame } from '../../../src/watch/block.ts';
import { openScreen, type ScreenOptions } from '../screen.ts';

/** Three lines, each as long as the window is wide. */
const wide =
  (name: string): Frame =>
  (columns) =>
    ['a', 'b', 'c'].map((line) => `${name}${line}`.padEnd(columns, '.'));

const seenAt = (name: string, columns: number): readonly string[] => ['', ...wide(name)(columns)];

const HIDE = '\u001b[?25l';
const SHOW = '\u001b[?25h';

function openBlock(options?: ScreenOptions) {
  const screen = openScreen(options);
  return { ...screen, block: createLiveBlock(screen.terminal, screen.host) };
}

describe('createLiveBlock', () => {
  it('draws each time in the same place', async () => {
    const { block, terminal, lines } = openBlock();
    terminal.write('before\n');
    for (const name of ['1', '2', '3']) block.draw(wide(name));
    expect(await lines()).toEqual(['before', ...seenAt('3', 80)]);
  });

  it('draws fewer and more lines', async () => {
    const { block, lines } = openBlock();
    block.draw(wide('1'));
    block.draw(() => ['one']);
    expect(await lines()).toEqual(['', 'one']);
    block.draw(wide('2'));
    expect(await lines()).toEqual(seenAt('2', 80));
  });

  it('stays below what is written meanwhile, also at the bottom of the screen', async () => {
    const { block, terminal, lines } = openBlock({ rows: 8 });
    const notes = Array.from({ length: 30 }, (_, at) => `note ${at}:${'-'.repeat(at * 5)}`);
    for (const note of notes) {
      terminal.write(Buffer.from(`${note.slice(0, 79)}\n`));
      block.draw(wide('1'));
    }
    expect(await lines()).toEqual([...notes.map((note) => note.slice(0, 79)), ...seenAt('1', 80)]);
  });

  it('waits for the end of a line that somebody has begun', async () => {
    const { block, terminal, lines } = openBlock();
    block.draw(wide('1'));
    terminal.write('half ');
    block.draw(wide('2'));
    expect(await lines()).toEqual(['half']);
    terminal.write('a line\n');
    expect(await lines()).toEqual(['half a line', ...seenAt('2', 80)]);
    terminal.write('no end');
    block.end();
    expect(await lines()).toEqual(['half a line', 'no end', ...seenAt('2', 80)]);
  });

  describe.each([true, false])('in a window whose lines are wrapped anew: %s', (wrapsAnew) => {
    it.each([
      ['in the middle of the screen', 4],
      ['at its bottom', 40],
    ])('leaves nothing behind %s when the window has another width', async (_, notes) => {
      const { block, terminal, resize, lines } = openBlock({ wrapsAnew });
      // Short, so that only the block would be wrapped.
      const written = Array.from({ length: notes }, (_, at) => `note ${at}`);
      for (const note of written) terminal.write(`${note}\n`);
      block.draw(wide('1'));
      for (const columns of [60, 59, 30, 20, 120, 21, 200, 80]) {
        await resize({ columns });
        expect(await lines()).toEqual([...written, ...seenAt('1', columns)]);
      }
    });

    it('leaves nothing behind when so low a window has room for its beginning only', async () => {
      const { block, terminal, resize, lines } = openBlock({ wrapsAnew });
      const notes = Array.from({ length: 40 }, (_, at) => `note ${at}`);
      for (const note of notes) terminal.write(`${note}\n`);
      block.draw(wide('1'));
      await resize({ rows: 2 });
      await resize({ rows: 12 });
      terminal.write('more\n');
      expect(await lines()).toEqual([...notes, 'more', ...seenAt('1', 80)]);
    });

    it('leaves nothing behind when the window is lower or higher', async () => {
      const { block, resize, lines } = openBlock({ wrapsAnew });
      block.draw(wide('1'));
      await resize({ rows: 3 });
      expect(await lines()).toEqual(seenAt('1', 80).slice(0, 2));
      await resize({ rows: 30 });
      expect(await lines()).toEqual(seenAt('1', 80));
    });
  });

  it.each([30, 79, 120])(
    'may be drawn in tmux before it tells of its new width: %i',
    async (columns) => {
      const env = { TERM: 'tmux-256color' };
      const { block, terminal, resize, lines } = openBlock({ env, wrapsAnew: false, rows: 8 });
      const notes = Array.from({ length: 10 }, (_, at) => `note ${at}`);
      for (const note of notes) terminal.write(`${note}\n`);
      block.draw(wide('1'));
      await resize({ columns }, () => block.draw(wide('2')));
      expect(await lines()).toEqual([...notes, ...seenAt('2', columns)]);
      block.end();
      terminal.write(`${'x'.repeat(columns)}y\n`); // is wrapped again
      expect((await lines()).at(-1)).toBe('y');
    },
  );

  it('draws nothing while the window changes its size', async () => {
    const { block, terminal, take } = openBlock();
    block.draw(wide('1'));
    take();
    terminal.emit('resize');
    block.draw(wide('2'));
    expect(take()).toBe('');
    block.end();
  });

  it('is not torn by what is typed', async () => {
    const { block, show, lines } = openBlock();
    block.draw(wide('1'));
    show('^C');
    block.draw(wide('2'));
    show('\r\n');
    block.draw(wide('3'));
    expect((await lines()).filter((line) => line !== '')).toEqual(wide('3')(80));
  });

  it('takes a terminal of no size for one of 80 columns', async () => {
    const { block, terminal, lines } = openBlock();
    Object.assign(terminal, { columns: 0, rows: 0 });
    block.draw(wide('1'));
    expect(await lines()).toEqual(seenAt('1', 80));
  });

  it('hides the cursor, and in the end shows it below the last state', async () => {
    const { block, terminal, take, lines } = openBlock();
    block.draw(wide('1'));
    expect(take()).toContain(HIDE);
    block.end();
    block.end();
    expect(take().endsWith(SHOW)).toBe(true);
    terminal.write('after\n');
    expect(await lines()).toEqual([...seenAt('1', 80), 'after']);
  });

  it.each(['exit', 'uncaughtExceptionMonitor'])('ends at %s', (event) => {
    const { block, host, take } = openBlock();
    block.draw(wide('1'));
    host.emit(event);
    expect(take().endsWith(SHOW)).toBe(true);
  });

  it('makes way for the shell at Ctrl-Z, and is drawn below it when it goes on', async () => {
    const { block, host, show, lines } = openBlock();
    block.draw(wide('1'));
    host.emit('SIGTSTP');
    show('[1]+  Stopped\n$ fg\n');
    block.draw(wide('2'));
    expect(await lines()).toEqual([
      ...seenAt('1', 80),
      '[1]+  Stopped',
      '$ fg',
      ...seenAt('2', 80),
    ]);
  });

  it('leaves the stream and the process as they were', () => {
    const { block, terminal, host } = openBlock();
    const { write } = terminal;
    block.draw(wide('1'));
    block.end();
    expect(terminal.write).toBe(write);
    expect([...terminal.eventNames(), ...host.eventNames()]).toEqual([]);
  });
});
