/** There was no answer in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** @throws NoAnswerError when there is no answer in time. A later answer is ignored. */
export async function inTime<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError('no answer')), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    answer.catch(() => {}); // avoids an unhandled rejection
  }
}
