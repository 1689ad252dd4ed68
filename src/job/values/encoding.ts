import { BrandfillError } from '../../common/errors.ts';
import {
  COMMON_ENCODINGS,
  type Encoding,
  findEncodingByName,
} from '../../rows/encoding/encodings.ts';
import { findNearest } from '../known-options.ts';

/**
 * Reads the name of an encoding, as people and other tools write it.
 *
 * @throws BrandfillError `INVALID_SETTING` that names the encoding that was probably meant
 */
export function parseEncoding(name: string): Encoding {
  const found = findEncodingByName(name);
  if (found) return found;
  const meant = findNearest(name, COMMON_ENCODINGS);
  const hint =
    meant === undefined
      ? 'such as utf-8, utf-16, windows-1252 or latin1'
      : `did you mean ${meant}?`;
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected the name of an encoding, received '${name}'; ${hint}`,
  );
}
