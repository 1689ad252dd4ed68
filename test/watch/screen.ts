import { EventEmitter } from 'node:events';
import headless from '@xterm/headless';
import { vi } from 'vitest';
import type { Host, Terminal } from '../../src/watch/progress-block.ts';

/** A terminal that looks at what it is sent as xterm.js does, and a process around it. */
export interface Screen {
  readonly terminal: Terminal & EventEmitter & { readonly hasColors: () => boolean };
  readonly host: Host & EventEmitter;
  /** What was sent since it was asked last. */
  take(): string;
  /** Shows something that did not come through the stream, such as what is typed. */
  show(text: string): void;
  /**
   * The window gets another size, and the process is told.
   *
   * @param meanwhile done when it has that size and nobody knows. @default nothing
   */
  resize(
    size: { readonly columns?: number; readonly rows?: number },
    meanwhile?: () => void,
  ): Promise<void>;
  /** All there is, with what has left the screen at its top, without empty lines at the end. */
  lines(): Promise<readonly string[]>;
}

export interface ScreenOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** Whether lines are wrapped anew in a narrower window; xterm and others cut them off. @default true */
  readonly wrapsAnew?: boolean;
  readonly hasColors?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

export function openScreen({
  columns = 80,
  rows = 24,
  wrapsAnew = true,
  hasColors = false,
  env = {},
}: ScreenOptions = {}): Screen {
  const screen = new headless.Terminal({
    cols: columns,
    rows,
    convertEol: true,
    allowProposedApi: true,
    // So it is with the consoles of old Windows.
    ...(wrapsAnew ? {} : { windowsPty: { backend: 'conpty', buildNumber: 19_000 } }),
  });
  let sent = '';
  let unseen = '';
  const terminal = Object.assign(new EventEmitter(), {
    columns,
    rows,
    hasColors: () => hasColors,
    write: (chunk: string | Uint8Array) => {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      sent += text;
      unseen += text;
      return true;
    },
  });

  async function see(): Promise<void> {
    const text = unseen;
    unseen = '';
    await new Promise<void>((resolve) => screen.write(text, resolve));
  }

  return {
    terminal: terminal as unknown as Screen['terminal'],
    host: Object.assign(new EventEmitter(), { env }) as unknown as Host & EventEmitter,
    take: () => {
      const text = sent;
      sent = '';
      return text;
    },
    show: (text) => {
      unseen += text;
    },
    resize: async (size, meanwhile = () => {}) => {
      await see();
      const now = { columns: terminal.columns, rows: terminal.rows, ...size };
      screen.resize(now.columns, now.rows);
      meanwhile();
      await see();
      Object.assign(terminal, now);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      terminal.emit('resize');
      vi.runAllTimers();
      vi.useRealTimers();
    },
    lines: async () => {
      await see();
      const { active } = screen.buffer;
      const all = Array.from({ length: active.length }, (_, at) => active.getLine(at));
      const texts = all.map((line) => line?.translateToString(true).trimEnd() ?? '');
      return texts.slice(0, texts.findLastIndex((text) => text !== '') + 1);
    },
  };
}
