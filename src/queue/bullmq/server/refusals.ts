import { ReplyError } from 'ioredis';
import { createNoticeFilter } from './notice-filter.ts';
import { reasonOf } from './reasons.ts';

/** Reports why Redis refuses commands in the background, where no caller waits for them. */
export interface Refusals {
  /**
   * Reports a refusal, unless it was reported a moment ago. Errors of the connection are reported
   * elsewhere.
   *
   * @returns whether Redis refused something
   */
  readonly tell: (error: unknown) => boolean;
}

/** A refused login is reported with its connection. */
const LOGIN = /^ReplyError: (WRONGPASS|NOAUTH)/;

/** @param who the part that needs what is refused, for the message */
export function createRefusals(onNotice: (message: string) => void, who = 'a worker'): Refusals {
  const isNew = createNoticeFilter();
  return {
    tell: (error) => {
      if (!(error instanceof ReplyError) || LOGIN.test(String(error))) return false;
      const reason = reasonOf(error);
      if (isNew(reason)) onNotice(`Redis refuses what ${who} needs: ${reason}. Trying again.`);
      return true;
    },
  };
}
