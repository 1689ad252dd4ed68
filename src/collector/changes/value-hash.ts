import { hashText } from '../../common/hash-text.ts';

const scratch = new Uint32Array(2);

/** A 32-bit hash of a value's text; 0 for the empty text only. */
export function hashOfValue(text: string): number {
  if (text === '') return 0;
  hashText(text, 0, scratch, 0);
  return scratch[0] || 1;
}
