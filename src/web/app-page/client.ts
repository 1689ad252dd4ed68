import type { Refusal, RefusalCode } from '../app/contract.ts';

/** What went wrong, for people. */
export interface Fault {
  readonly code: RefusalCode | 'NO_CONNECTION_TO_APP';
  readonly message: string;
  readonly advice?: string;
}

/** Carries a fault through what is awaited. */
class FaultError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** The fault in whatever was thrown. */
export function faultOf(error: unknown): Fault {
  if (error instanceof FaultError) return error.fault;
  return { code: 'UNEXPECTED', message: 'Something went wrong on this page.', advice: RELOAD };
}

const RELOAD = 'Load the page anew. Lists, answers and runs are kept.';

const GONE: Fault = {
  code: 'NO_CONNECTION_TO_APP',
  message: 'Brandfill does not answer: it was closed, or this computer was asleep.',
  advice:
    'If its window is closed, start it again (npx brandfill app). Nothing is lost: this page goes on where it was.',
};

/** @throws FaultError */
export async function read<T>(path: string): Promise<T> {
  return (await ask(path, { method: 'GET' })) as T;
}

/** @throws FaultError */
export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return (await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })) as T;
}

async function ask(path: string, request: RequestInit): Promise<unknown> {
  const answer = await fetch(`api/${path}`, request).catch(() => undefined);
  if (!answer) throw new FaultError(GONE);
  return readAnswer(answer.status, await answer.text().catch(() => ''));
}

function readAnswer(status: number, text: string): unknown {
  const value = parse(text);
  if (status >= 200 && status < 300) return value;
  throw new FaultError(isRefusal(value) ? value.error : strange(status));
}

function strange(status: number): Fault {
  if (status === 401) return SIGNED_OUT;
  const message = `Brandfill answered in a way that this page does not know (${status}).`;
  return { code: 'UNEXPECTED', message, advice: RELOAD };
}

const SIGNED_OUT: Fault = {
  code: 'NOT_SIGNED_IN',
  message: 'This page is signed out.',
  advice: 'Open the address that Brandfill shows where it was started.',
};

function parse(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRefusal(value: unknown): value is Refusal {
  const { error } = (value ?? {}) as Partial<Refusal>;
  return typeof error?.message === 'string';
}

/** A file on its way up. */
export interface Upload<T> {
  /** @throws FaultError */
  readonly done: Promise<T>;
  cancel(): void;
}

/** Sends a file as it is; the browser reads it from the disk while it goes. */
export function upload<T>(
  path: string,
  file: File,
  onProgress: (sent: number, all: number) => void,
): Upload<T> {
  // `fetch` does not say how much of a body has gone.
  const request = new XMLHttpRequest();
  const done = new Promise<T>((resolve, reject) => {
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded, total));
    request.addEventListener('load', () => {
      try {
        resolve(readAnswer(request.status, request.responseText) as T);
      } catch (error) {
        reject(error);
      }
    });
    request.addEventListener('error', () => reject(new FaultError(UNSENT)));
    request.addEventListener('abort', () => reject(new FaultError(CANCELLED)));
  });
  request.open('POST', `api/${path}`);
  request.setRequestHeader('content-type', 'application/octet-stream');
  request.send(file);
  return { done, cancel: () => request.abort() };
}

const UNSENT: Fault = {
  code: 'NO_CONNECTION_TO_APP',
  message: 'The file could not be read to its end, or Brandfill does not answer.',
  advice:
    'Was the file moved, or is it open in another program? Close it there, then choose it again.',
};

const CANCELLED: Fault = { code: 'NOT_NOW', message: 'The file was not taken: you stopped it.' };
