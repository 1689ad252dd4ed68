import type { Definitions } from '../setting-definition.ts';
import { flag, text } from '../values/setting-values.ts';

/** Settings of the files of a run. */
export interface FileSettings {
  readonly out: string | undefined;
  readonly failures: string | undefined;
  readonly changes: string | undefined;
  readonly key: string | undefined;
  readonly merge: string | undefined;
  readonly excel: boolean | undefined;
}

export const FILE_SETTINGS: Definitions<FileSettings> = {
  out: {
    value: 'FILE',
    description:
      'where the enriched rows go; - is standard output (default: <input>.enriched.<ext>)',
    parse: text,
  },
  failures: {
    value: 'FILE',
    description:
      'where the rows go that were not enriched (default: <input>.failures.<ext>, of a workbook a sheet in it)',
    parse: text,
  },
  changes: {
    value: 'FILE',
    description:
      'where the rows go that are new, or whose enriched values differ from those of the last run',
    parse: text,
  },
  key: {
    value: 'COLUMN',
    description:
      'with --changes: the column that tells rows apart from run to run (default: their domains)',
    parse: text,
  },
  merge: {
    value: 'FILE',
    description:
      'an earlier output: the input is its failures file, and what is found now gets in its places',
    parse: text,
  },
  excel: {
    description: 'begin CSV outputs with a byte order mark, so that Excel reads them as UTF-8',
    parse: flag,
  },
};
