import { describeKind } from '../common/describe-kind.ts';
import { BrandfillError } from '../common/errors.ts';

/** What an option may be that is no setting. */
export type OptionKind =
  /** Whoever reads it checks it. */
  'checkedElsewhere' | 'text' | 'texts' | 'flag' | 'function' | 'object' | 'signal' | 'control';

interface Kind {
  readonly isMet: (value: unknown) => boolean;
  /** How a message says so. */
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
 * Refuses an option that is of the wrong type: else it would be met as an error of ours in the midst
 * of a run, or be left out of account.
 *
 * @param label how the option is called in messages
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
