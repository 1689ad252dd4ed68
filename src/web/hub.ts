import { toCleanJson } from '../common/secrets.ts';
import { type Board, type BoardSource, findChange } from './board.ts';

/** Sends changes to all viewers, a few times a second. Reads nothing while nobody looks. */
export interface Hub {
  /**
   * Sends the board, and then each change of it, until the signal fires or the hub is closed.
   *
   * @throws what `send` throws
   */
  serve(send: SendEvent, signal: AbortSignal): Promise<void>;
  /** Counted from the moment they are served, so that as many come in as a caller lets in. */
  readonly viewers: number;
  /** Sends the last state and ends. */
  close(): Promise<void>;
}

/** Resolves when the event is under way and another may follow. */
export type SendEvent = (event: 'board' | 'change' | 'alive', data: string) => Promise<void>;

export interface HubOptions {
  readonly source: Pick<BoardSource, 'read'>;
  /** How often the board is checked for changes. @default 500 ms */
  readonly everyMs?: number;
}

interface Viewer {
  readonly send: SendEvent;
  readonly leave: (error?: Error) => void;
  isSending: boolean;
  /** Whether the viewer missed a change while another was under way, and needs the whole board. */
  isBehind: boolean;
  quietSinceMs: number;
}

const EVERY_MS = 500;
/** An event is sent this often when nothing changes, because proxies close silent connections. */
const ALIVE_MS = 15_000;
/** Longest wait for a viewer to take the last state. */
const SHUTDOWN_TIMEOUT_MS = 1_000;
const EMPTY: Board = { runs: [], workers: [], schedules: [] };

export function createHub({ source, everyMs = EVERY_MS }: HubOptions): Hub {
  const viewers = new Set<Viewer>();
  /** Viewers that wait for the first board. */
  let arriving = 0;
  let board: Board | undefined;
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function read(): Promise<Board> {
    try {
      return await source.read();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { ...(board ?? EMPTY), trouble: why };
    }
  }

  async function look(): Promise<void> {
    const before = board;
    const now = await read();
    board = now;
    const change = before && findChange(before, now);
    const data = change && toCleanJson(change);
    for (const viewer of viewers) {
      if (data !== undefined) emit(viewer, 'change', data);
      else if (performance.now() - viewer.quietSinceMs > ALIVE_MS) emit(viewer, 'alive', '');
    }
  }

  function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  function lookAgain(): void {
    timer ??= setTimeout(() => {
      void lookOnce().then(() => {
        timer = undefined;
        if (viewers.size > 0 && !isClosed) lookAgain();
        else board = undefined;
      });
    }, everyMs);
  }

  function emit(viewer: Viewer, event: 'board' | 'change' | 'alive', data: string): void {
    if (viewer.isSending) {
      viewer.isBehind = true;
      return;
    }
    viewer.isSending = true;
    viewer.quietSinceMs = performance.now();
    viewer.send(event, data).then(() => {
      viewer.isSending = false;
      if (viewer.isBehind && board) {
        viewer.isBehind = false;
        emit(viewer, 'board', toCleanJson(board));
      }
    }, viewer.leave);
  }

  return {
    serve: async (send, signal) => {
      const isOver = (): boolean => isClosed || signal.aborted;
      arriving += 1;
      try {
        while (!board && !isOver()) await lookOnce();
      } finally {
        arriving -= 1;
      }
      if (isOver()) return; // perhaps during the first read, which may take seconds
      await new Promise<void>((resolve, reject) => {
        const leave = (error?: Error): void => {
          viewers.delete(viewer);
          if (error === undefined) resolve();
          else reject(error);
        };
        const viewer: Viewer = {
          send,
          leave,
          isSending: false,
          isBehind: false,
          quietSinceMs: performance.now(),
        };
        viewers.add(viewer);
        signal.addEventListener('abort', () => leave());
        emit(viewer, 'board', toCleanJson(board ?? EMPTY));
        lookAgain();
      });
    },
    get viewers() {
      return arriving + viewers.size;
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      if (viewers.size > 0) {
        await looking;
        await lookOnce();
      }
      const until = performance.now() + SHUTDOWN_TIMEOUT_MS;
      while ([...viewers].some(({ isSending }) => isSending) && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      for (const viewer of viewers) viewer.leave();
    },
  };
}
