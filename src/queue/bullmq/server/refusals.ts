import { ReplyError } from 'ioredis';
import { reasonOf } from './redis.ts';

/** Says why Redis refuses what it is asked for in the background, where nobody waits for it. */
export interface Refusals {
  /** Says so, unless the last one had the same reason. What is wrong with a connection is told elsewhere. */
  readonly tell: (error: unknown) => void;
  /** It works again: the same reason would be news. */
  readonly over: () => void;
}

/** A login that is refused is told with the connection that it is for. */
const LOGIN = /^ReplyError: (WRONGPASS|NOAUTH)/;

/** @param who needs what is refused, for the sentence */
export function createRefusals(onNotice: (message: string) => void, who = 'a worker'): Refusals {
  let told = '';
  return {
    tell: (error) => {
      if (!(error instanceof ReplyError) || LOGIN.test(String(error))) return;
      const reason = reasonOf(error);
      if (reason !== told) onNotice(`Redis refuses what ${who} needs: ${reason}. Trying again.`);
      told = reason;
    },
    over: () => {
      told = '';
    },
  };
}
