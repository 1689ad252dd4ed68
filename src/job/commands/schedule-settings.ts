import { BrandfillError } from '../../common/errors.ts';
import type { Definitions } from '../read-settings.ts';
import { STATUS_SETTINGS } from '../settings/listen.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { text } from '../values/setting-values.ts';

/** All settings of `schedule`, read and checked. Durations are in milliseconds. */
export interface ScheduleSettings
  extends Pick<Settings, 'queue' | 'lostAfter' | 'acceptEviction' | 'listen' | 'allowHost'> {
  readonly name: string | undefined;
}

/** Defines all settings of `schedule`; those that `enrich` has too are the same. */
export const SCHEDULE_SETTINGS: Definitions<ScheduleSettings> = {
  queue: { ...SETTINGS.queue, description: 'Redis that keeps the schedules' },
  name: {
    value: 'NAME',
    description:
      'name of these schedules in Redis; processes with the same files share a name (default: derived from the folder of the files)',
    parse: groupName,
  },
  lostAfter: {
    ...SETTINGS.lostAfter,
    default: '1min',
    description: 'how long a process may be silent before another takes over its runs',
  },
  acceptEviction: SETTINGS.acceptEviction,
  ...STATUS_SETTINGS,
};

function groupName(value: unknown): string {
  const name = text(value);
  if (/^[\w.-]{1,64}$/.test(name)) return name;
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected up to 64 letters, digits, dots, dashes or underscores, received '${name}'`,
  );
}
