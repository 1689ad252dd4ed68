import type { Definitions } from '../read-settings.ts';
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
      'write the enriched rows to this file; - is standard output (default: <input>.enriched.<ext>)',
    parse: text,
  },
  failures: {
    value: 'FILE',
    description:
      'write the rows that were not enriched to this file (default: <input>.failures.<ext>, or a sheet in the output if that is a workbook)',
    parse: text,
  },
  changes: {
    value: 'FILE',
    description:
      'write the rows that are new, or whose enriched values have changed since the last run, to this file',
    parse: text,
  },
  key: {
    value: 'COLUMN',
    description:
      'with --changes: column that identifies a row from run to run (default: the domain)',
    parse: text,
  },
  merge: {
    value: 'FILE',
    description:
      'merge the results into this earlier output, each in its original row; the input is its failures file',
    parse: text,
  },
  excel: {
    description: 'start CSV outputs with a byte order mark, so that Excel reads them as UTF-8',
    parse: flag,
  },
};
