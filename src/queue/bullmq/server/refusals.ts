import { ReplyError } from 'ioredis';
import { createNews } from './news.ts';
import { reasonOf } from './reasons.ts';

/** Says why Redis refuses what it is asked for in the background, where nobody waits for it. */
export interface Refusals {
  /**
   * Says so, unless it did a moment ago. What is wrong with a connection is told elsewhere.
   *
   * @returns whether Redis refused something
   */
  readonly tell: (error: unknown) => boolean;
}

/** A login that is refused is told with the connection that it is for. */
const LOGIN = /^ReplyError: (WRONGPASS|NOAUTH)/;

/** @param who needs what is refused, for the sentence */
export function createRefusals(onNotice: (message: string) => void, who = 'a worker'): Refusals {
  const isNews = createNews();
  return {
    tell: (error) => {
      if (!(error instanceof ReplyError) || LOGIN.test(String(error))) return false;
      const reason = reasonOf(error);
      if (isNews(reason)) onNotice(`Redis refuses what ${who} needs: ${reason}. Trying again.`);
      return true;
    },
  };
}
