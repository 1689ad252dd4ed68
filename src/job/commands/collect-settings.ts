import type { Definitions } from '../read-settings.ts';
import { STATUS_SETTINGS } from '../settings/listen.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { size, text } from '../values/setting-values.ts';

/** All settings of `collect`, read and checked. */
export interface CollectSettings
  extends Pick<Settings, 'queue' | 'acceptEviction' | 'listen' | 'allowHost'> {
  readonly outDir: string;
  /** In bytes. */
  readonly maxFileSize: number;
}

/** Defines all settings of `collect`; those that `enrich` has too are the same. */
export const COLLECT_SETTINGS: Definitions<CollectSettings> = {
  queue: { ...SETTINGS.queue, description: 'Redis to take outcomes from' },
  outDir: {
    value: 'DIR',
    default: 'out',
    description: 'folder to write the files to; for one collector at a time',
    parse: text,
  },
  maxFileSize: {
    value: 'SIZE',
    default: '1GB',
    description: 'maximum size of a file before the next one is started',
    parse: size,
  },
  acceptEviction: SETTINGS.acceptEviction,
  ...STATUS_SETTINGS,
};
