import {
  createField,
  type Field,
  type FillSetting,
  parseFields,
  parseFills,
} from '../../collector/fields/fields.ts';
import { presetPathOf, readPreset } from '../job-file/preset.ts';
import type { Definitions } from '../read-settings.ts';
import { integer, isRecord, possiblyEmptyText, text } from '../values/setting-values.ts';

/** Settings of the columns that are added or filled. */
export interface ColumnSettings {
  readonly fields: readonly Field[] | undefined;
  readonly maxColumns: number;
  readonly fill: readonly FillSetting[] | undefined;
  readonly prefix: string;
}

export const COLUMN_SETTINGS: Definitions<ColumnSettings> = {
  fields: {
    value: 'NAME=EXPR,…',
    takesPreset: true,
    description:
      'output columns, as JMESPath expressions on the answer; @FILE reads them from a file (default: the answer, flattened)',
    parse: (value) => {
      if (isRecord(value)) {
        return Object.entries(value).map(([name, expr]) => createField(name, text(expr)));
      }
      const path = presetPathOf(text(value));
      return path === undefined ? parseFields(text(value)) : readPreset(path);
    },
  },
  maxColumns: {
    value: 'N',
    default: '40',
    description:
      'without --fields: maximum number of columns of the flattened answer; anything beyond goes into one more column, json',
    ...integer(0, 1_000),
  },
  fill: {
    value: 'COLUMN=EXPR',
    isRepeatable: true,
    description:
      "fill blank cells in one of the list's own columns with the value of a JMESPath expression",
    parse: (value) =>
      parseFills(
        isRecord(value)
          ? Object.fromEntries(Object.entries(value).map(([name, expr]) => [name, text(expr)]))
          : [value].flat().map(text),
      ),
  },
  prefix: {
    value: 'TEXT',
    default: 'brand_',
    description: 'prefix of the names of all added columns',
    parse: possiblyEmptyText,
  },
};
