import type { Definitions } from './read-settings.ts';
import { API_SETTINGS, type ApiSettings } from './settings/api.ts';
import { CALL_SETTINGS, type CallSettings } from './settings/calls.ts';
import { COLUMN_SETTINGS, type ColumnSettings } from './settings/columns.ts';
import { FILE_SETTINGS, type FileSettings } from './settings/files.ts';
import { LIST_SETTINGS, type ListSettings } from './settings/list.ts';
import { LISTEN_SETTINGS, type ListenSettings } from './settings/listen.ts';
import { LOGO_SETTINGS, type LogoSettings } from './settings/logos.ts';
import { QUEUE_SETTINGS, type QueueSettings } from './settings/queue.ts';
import { REPORT_SETTINGS, type ReportSettings } from './settings/report.ts';
import { type FreshnessSettings, STORE_SETTINGS } from './settings/store.ts';

/** All settings of `enrich`, read and checked. Durations are in milliseconds. */
export interface Settings
  extends FileSettings,
    ReportSettings,
    ApiSettings,
    ListSettings,
    ColumnSettings,
    LogoSettings,
    CallSettings,
    FreshnessSettings,
    QueueSettings,
    ListenSettings {}

/**
 * Defines all settings of `enrich`, in the order of the help. The keys are those of the library's
 * options.
 */
export const SETTINGS: Definitions<Settings> = {
  ...FILE_SETTINGS,
  ...REPORT_SETTINGS,
  ...API_SETTINGS,
  ...LIST_SETTINGS,
  ...COLUMN_SETTINGS,
  ...LOGO_SETTINGS,
  ...CALL_SETTINGS,
  ...STORE_SETTINGS,
  ...QUEUE_SETTINGS,
  ...LISTEN_SETTINGS,
};

export type SettingKey = keyof Settings;
