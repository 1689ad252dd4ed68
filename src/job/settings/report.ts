import type { Definitions } from '../read-settings.ts';
import { reportPaths } from '../values/setting-values.ts';

/** Settings of the report of a run. */
export interface ReportSettings {
  readonly report: readonly string[] | undefined;
}

export const REPORT_SETTINGS: Definitions<ReportSettings> = {
  report: {
    value: 'FILE',
    isRepeatable: true,
    description:
      'write a report of the run to this file: a self-contained page (.html), or its data (.json)',
    parse: reportPaths,
  },
};
