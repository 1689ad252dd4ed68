import { expect, it } from 'vitest';
import { createRedactor } from '../../src/common/secrets.ts';
import { chooseFormat, type LogOptions, openLog } from '../../src/watch/log.ts';

function open(options: Partial<LogOptions>) {
  const lines: string[] = [];
  const log = openLog({
    format: 'json',
    level: 'info',
    redact: (text) => text,
    ...options,
    stream: { write: (line: string) => lines.push(line) > 0 },
  });
  return { log, lines };
}

it('writes an object on each line, with level, time, message and all fields', () => {
  const { log, lines } = open({ fields: { command: 'worker' } });
  log.with({ run: 'a1' }).write('warn', 'Two\nlines', { calls: 3 });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    command: 'worker',
    run: 'a1',
    calls: 3,
    msg: 'Two\nlines',
  });
});

it.each(['json', 'text'] as const)('tells what is at its level or above, as %s', (format) => {
  const { log, lines } = open({ format, level: 'warn' });
  log.write('debug', 'one');
  log.write('info', 'two');
  log.write('warn', 'three');
  log.write('error', 'four');
  expect(lines).toHaveLength(2);
});

it('has the time and the message in a line of text, and the id of the run it is about', () => {
  const { log, lines } = open({ format: 'text', fields: { command: 'worker' } });
  log.write('info', 'Waiting.', { calls: 3 });
  log.write('info', 'Begins\u001b.', { run: 'a1' });
  log.with({ run: 'b2' }).write('info', 'Ends.');
  const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
  const texts = ['Waiting\\.', String.raw`a1 Begins\\u001b\.`, 'b2 Ends\\.'];
  expect(lines.join('')).toMatch(
    new RegExp(`^${texts.map((text) => `${time} ${text}\n`).join('')}$`),
  );
});

it.each(['json', 'text'] as const)('tells no secret, as %s', (format) => {
  const { log, lines } = open({ format, redact: createRedactor(['k"ey']).text });
  log.with({ deep: [{ in: 'k"ey' }] }).write('info', 'It is k"ey', { as: 'k%22ey', more: 'k"ey' });
  expect(lines.join('')).not.toMatch(/k(\\|%22)?"?ey/);
  expect(lines.join('')).toContain('It is [redacted]');
});

it('is JSON in production, but not at a terminal, unless one says so', () => {
  const production = { NODE_ENV: 'production' };
  expect(chooseFormat('auto', { env: production })).toBe('json');
  expect(chooseFormat('auto', { env: production, isTTY: true })).toBe('shown');
  expect(chooseFormat('auto', { env: {} })).toBe('shown');
  expect(chooseFormat('text', { env: production })).toBe('text');
  expect(chooseFormat('json', { env: {}, isTTY: true })).toBe('json');
});
