import { hc } from 'hono/client';
import type { createApi } from '../app/app.ts';

/** What can be asked of the server, typed by its own routes. The dashboard's are among them. */
export const api = hc<ReturnType<typeof createApi>>(new URL('api', window.location.href).href);

/** What went wrong, for people. */
export interface Fault {
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

const RELOAD = 'Load the page anew. Lists, answers and runs are kept.';
const GONE: Fault = {
  message: 'Brandfill does not answer: it was closed, or this computer was asleep.',
  advice: 'If it was closed, start it again. Nothing is lost: this page goes on where it was.',
};

const SIGNED_OUT: Fault = {
  message: 'This page is signed out.',
  advice: 'Open the address that Brandfill shows where it was started.',
};

/** The fault in whatever was thrown. */
export function faultOf(error: unknown): Fault {
  if (error instanceof FaultError) return error.fault;
  return { message: 'Something went wrong on this page.', advice: RELOAD };
}

type Answer = Pick<Response, 'ok' | 'status' | 'headers' | 'json' | 'text'>;

/** The value of an answer. @throws FaultError */
export async function ask<R extends Answer>(
  asking: Promise<R>,
): Promise<Awaited<ReturnType<R['json']>>> {
  const answer = await asking.catch(() => undefined);
  if (!answer) throw new FaultError(GONE);
  if (answer.ok) return (await answer.json()) as Awaited<ReturnType<R['json']>>;
  if (answer.status === 401) throw new FaultError(SIGNED_OUT);
  const isSentence = answer.headers.get('content-type')?.startsWith('text/plain') === true;
  if (isSentence) throw new FaultError({ message: await answer.text() });
  const message = `Brandfill answered in a way that this page does not know (${answer.status}).`;
  throw new FaultError({ message, advice: RELOAD });
}

/** A list as it was understood, and what became of it. */
export type List = Awaited<ReturnType<typeof listOf>>;

export async function listOf(id: string) {
  return await ask(api.lists[':id'].$get({ param: { id } }));
}

/** Sends a file as it is; the browser reads it from the disk while it goes. @throws FaultError */
export async function upload(file: File): Promise<{ readonly id: string; readonly name: string }> {
  const asking = fetch(`api/lists?name=${encodeURIComponent(file.name)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: file,
  });
  return (await ask(asking)) as { id: string; name: string };
}
