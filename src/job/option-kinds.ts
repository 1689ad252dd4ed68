import { describeKind } from '../common/describe-kind.ts';
import { BrandfillError } from '../common/errors.ts';

/** The kind of value that an option has which is not a setting. */
export type OptionKind =
  /** The code that reads it checks it. */
  'checkedElsewhere' | 'text' | 'texts' | 'flag' | 'function' | 'object' | 'signal' | 'control';

interface Kind {
  readonly isMet: (value: unknown) => boolean;
  /** The kind in the words of a message. */
  readonly expected: string;
}

const KINDS: Readonly<Record<OptionKind, Kind>> = {
  checkedElsewhere: { isMet: () => true, expected: '' },
  text: { isMet: (value) => typeof value === 'string', expected: 'a text' },
  flag: { isMet: (value) => typeof value === 'boolean', expected: 'true or false' },
  function: { isMet: (value) => typeof value === 'function', expected: 'a function' },
  object: {
    isMet: (value) => typeof value === 'object' && value !== null,
    expected: 'an object',
  },
  texts: {
    isMet: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
    expected: 'a list of texts',
  },
  signal: { isMet: (value) => value instanceof AbortSignal, expected: 'an AbortSignal' },
  control: {
    isMet: (value) => typeof value === 'object' && value !== null && 'whileOpen' in value,
    expected: 'what createRunControl makes',
  },
};

/**
 * Refuses an option of the wrong type. Otherwise it would turn up as an internal error in the
 * middle of a run, or be ignored.
 *
 * @param label the name of the option in messages
 * @throws BrandfillError `INVALID_SETTING`; it never repeats the value, which may be a credential
 */
export function checkKind(value: unknown, kind: OptionKind, label: string): void {
  const { isMet, expected } = KINDS[kind];
  if (isMet(value)) return;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${label}: expected ${expected}, received ${describeKind(value)}.`,
  );
}
