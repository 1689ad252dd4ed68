import type { Node } from 'yaml';
import { isCredentialName } from '../../brand/credential.ts';
import type { NameValue } from '../../brand/endpoint.ts';
import { BrandfillError } from '../../common/errors.ts';
import type { SettingDefinition } from '../read-settings.ts';
import { isProfileFile } from '../settings/api.ts';
import { SETTINGS, type SettingKey } from '../settings.ts';
import { type JobFileKey, type JobFileKeys, readMap, schemaOfMap } from './job-file-map.ts';
import {
  describeKind,
  type FileValue,
  type JobFileReading,
  offsetOf,
  readPath,
  readText,
  readValue,
  resolve,
} from './job-file-values.ts';
import { ON_FINISH_KEYS, type OnFinish } from './on-finish-keys.ts';
import { presetAt, presetPathOf } from './preset.ts';
import { findCronProblem, findTimezoneProblem, type Schedule } from './schedule.ts';
import { inKeys, mayBe, shapeOf } from './value-shapes.ts';

/** Keys of a job file beside the settings of `enrich`. */
interface ExtraKeys {
  readonly input: string;
  readonly apiKeyEnv: string;
  readonly schedule: Schedule;
  readonly onFinish: OnFinish;
}

/** All values of a job file. Settings are as they were given, not yet parsed. */
export type JobFileValues = ExtraKeys & { readonly [K in SettingKey]: FileValue };

const CRON: JobFileKey<string> = textKey({
  description:
    'five fields: minute, hour, day, month, weekday; for example, 30 2 * * * is 02:30 every day',
  findProblem: findCronProblem,
});

const TIMEZONE: JobFileKey<string> = textKey({
  description: "time zone of cron and of {date}, such as Europe/Berlin (default: the machine's)",
  findProblem: findTimezoneProblem,
});

const SCHEDULE_KEYS: JobFileKeys<Schedule> = { cron: CRON, timezone: TIMEZONE };

const EXTRA_KEYS: JobFileKeys<ExtraKeys> = {
  input: {
    schema: {
      type: 'string',
      description:
        'the list: an XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    },
    read: (node, reading) => {
      const path = readText(node, reading);
      return path === undefined ? undefined : readPath(path, node, reading);
    },
  },
  apiKeyEnv: {
    schema: {
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      default: 'BRANDFILL_API_KEY',
      description: 'name of the environment variable that holds the credential',
    },
    read: readVariableName,
  },
  schedule: {
    schema: {
      ...schemaOfMap(SCHEDULE_KEYS),
      required: ['cron'],
      description: 'when brandfill schedule runs this job',
    },
    read: (node, reading) => {
      const before = reading.issues.count();
      const { values, isUnderstood } = readMap(node, reading, { keys: SCHEDULE_KEYS });
      const { cron, timezone } = values;
      // Half a schedule would mean another time than was intended.
      if (cron !== undefined && reading.issues.count() === before) return { cron, timezone };
      if (isUnderstood && !('cron' in values)) {
        reading.issues.add(offsetOf(node), "expected 'cron', such as '30 2 * * *'");
      }
      return undefined;
    },
  },
  onFinish: {
    schema: {
      ...schemaOfMap(ON_FINISH_KEYS),
      minProperties: 1,
      description: 'whom to notify when the run is over, however it ended',
    },
    read: (node, reading) => {
      const { values, isUnderstood } = readMap(node, reading, { keys: ON_FINISH_KEYS });
      if (values.command !== undefined || values.url !== undefined) return values;
      if (isUnderstood && !('command' in values || 'url' in values)) {
        reading.issues.add(offsetOf(node), "expected 'command' or 'url'");
      }
      return undefined;
    },
  },
};

/** Defines every key of a job file, once for reading it and for its schema. */
export const JOB_FILE_KEYS: JobFileKeys<JobFileValues> = {
  input: EXTRA_KEYS.input,
  ...(Object.fromEntries(
    Object.entries<SettingDefinition<unknown>>(SETTINGS).map(([key, definition]) => [
      key,
      settingKey(definition),
    ]),
  ) as { readonly [K in SettingKey]: JobFileKey<FileValue> }),
  apiKeyEnv: EXTRA_KEYS.apiKeyEnv,
  schedule: EXTRA_KEYS.schedule,
  onFinish: EXTRA_KEYS.onFinish,
};

/** Explains keys that people try and that job files do not have. */
export function explainKey(key: string): string | undefined {
  if (key === 'token') {
    return `a token does not belong in a job file; put it into the environment variable BRANDFILL_DASHBOARD_TOKEN, or name the file that holds it in 'tokenFile'`;
  }
  if (key !== 'key' && isCredentialName(key)) {
    return `a credential does not belong in a job file; name the environment variable that holds it in 'apiKeyEnv', or the file in 'apiKeyFile'`;
  }
  const flags: Readonly<Record<string, string>> = {
    dryRun: '--dry-run',
    progress: '--progress',
    json: '--json',
    logLevel: '--log-level',
    logFormat: '--log-format',
  };
  const flag = Object.hasOwn(flags, key) ? flags[key] : undefined;
  return flag && `'${key}' is no key of a job file; give ${flag} on the command line`;
}

function settingKey(definition: SettingDefinition<unknown>): JobFileKey<FileValue> {
  const isPath = definition.value === 'FILE' || definition.value === 'DIR';
  return {
    schema: schemaOfSetting(definition),
    read: (node, reading) => {
      const given = readValue(node, reading);
      const value = definition.takesPreset === true ? presetBeside(given, node, reading) : given;
      if (value === undefined) return undefined;
      const problem = findProblem(definition, value);
      if (problem !== undefined) {
        reading.issues.add(offsetOf(resolve(node, reading)), problem);
        return undefined;
      }
      const isFile =
        isPath ||
        (definition === SETTINGS.api && typeof value === 'string' && isProfileFile(value));
      return isFile ? readPaths(value, node, reading) : value;
    },
  };
}

/** The path of a preset is relative to the folder of the job file, like all paths in it. */
function presetBeside(
  value: FileValue | undefined,
  node: Node,
  reading: JobFileReading,
): FileValue | undefined {
  const path = typeof value === 'string' ? presetPathOf(value) : undefined;
  if (path === undefined) return value;
  const beside = readPath(path, node, reading);
  return beside === undefined ? undefined : presetAt(beside);
}

/** One path, or several. */
function readPaths(value: FileValue, node: Node, reading: JobFileReading): FileValue | undefined {
  if (typeof value === 'string') return readPath(value, node, reading);
  if (!Array.isArray(value)) return value;
  const paths = value.map((path: FileValue) => readPaths(path, node, reading));
  return paths.every((path) => path !== undefined) ? paths : undefined;
}

function schemaOfSetting(definition: SettingDefinition<unknown>): JobFileKey<unknown>['schema'] {
  const { value, env } = definition;
  const standard = definition.defaultInJobFile ?? definition.default;
  const isNumber = value === 'N' || value === '0 or 1';
  const fromEnv = env === undefined ? '' : ` (environment: ${env})`;
  return {
    description: inWordsOfFile(definition.description) + fromEnv,
    ...(standard === undefined ? {} : { default: isNumber ? Number(standard) : standard }),
    ...shapeOf(definition),
  };
}

function findProblem(definition: SettingDefinition<unknown>, value: FileValue): string | undefined {
  const may = mayBe(definition);
  const isList = Array.isArray(value);
  const isMap = !isList && typeof value === 'object';
  if ((isList && !may.list) || (isMap && !may.map)) {
    return `expected ${definition.value ?? 'true or false'}, received ${describeKind(value)}`;
  }
  try {
    const read = definition.parse(value);
    return definition.value === 'NAME=VALUE' ? findCredential(read as NameValues) : undefined;
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    return inWordsOfFile(error.message);
  }
}

/** Parameters and headers, in the form that their settings parse. */
type NameValues = readonly NameValue[];

function findCredential(pairs: NameValues): string | undefined {
  const named = pairs.find(([name]) => name !== 'key' && isCredentialName(name));
  return (
    named &&
    `'${named[0]}' is a credential; say in 'auth' how it is sent, and name what holds it in 'apiKeyEnv' or 'apiKeyFile'`
  );
}

function inWordsOfFile(text: string): string {
  return inKeys(text, Object.keys(SETTINGS));
}

function textKey(options: {
  readonly description: string;
  readonly findProblem: (text: string) => string | undefined;
}): JobFileKey<string> {
  return {
    schema: { type: 'string', description: options.description },
    read: (node, reading) => {
      const text = readText(node, reading);
      const problem = text === undefined ? undefined : options.findProblem(text);
      if (problem !== undefined) reading.issues.add(offsetOf(node), problem);
      return problem === undefined ? text : undefined;
    },
  };
}

/**
 * Reads the name of a variable. A wrong value is never repeated: it may be the credential itself.
 */
function readVariableName(node: Node, reading: JobFileReading): string | undefined {
  const [from, to] = node.range ?? [0, 0];
  const name = reading.text
    .slice(from, to)
    .trim()
    .replaceAll(/^['"]|['"]$/g, '');
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  reading.issues.add(
    from,
    'expected the bare name of an environment variable such as BRANDFILL_API_KEY; the credential itself, or ${…}, does not belong here',
  );
  return undefined;
}
