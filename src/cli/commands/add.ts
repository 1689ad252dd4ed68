import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { createEndpoint } from '../../brand/endpoint.ts';
import { assertColumnsThere, chooseDomainColumn } from '../../collector/choose-column.ts';
import { makePlan } from '../../collector/first-reading.ts';
import { EXIT } from '../../common/errors.ts';
import { countOf, formatCount } from '../../common/format.ts';
import { flag, text } from '../../options/kinds.ts';
import { option, pick, required, type SettingsOf, under } from '../../options/option.ts';
import { API_OPTIONS, LIST_OPTIONS, QUEUE_OPTIONS } from '../../options/options.ts';
import { createDomainReader } from '../../rows/domain/domain.ts';
import { openList } from '../../rows/open-list.ts';
import { describeInput, describeRows } from '../../watch/describe.ts';
import { inOneLine } from '../../watch/log.ts';
import { defineCommand, print, say, untilInterrupted } from './command.ts';
import { withQueue } from './with-queue.ts';

const ADD_OPTIONS = {
  ...QUEUE_OPTIONS,
  ...pick(API_OPTIONS, 'api', 'params'),
  baseUrl: required(API_OPTIONS.baseUrl),
  ...LIST_OPTIONS,
  ...under('Workers on a queue', {
    ref: option(text('TEXT'), {
      help: 'reference that comes back with each outcome (default: the name of the file)',
    }),
    interactive: option(flag(), {
      help: 'go ahead of all lists that were added without this option, because somebody is waiting for the outcomes',
    }),
  }),
  ...under('What is shown', {
    json: option(flag(), { help: 'print the counts to standard output as JSON' }),
  }),
};

/** No columns are added here, so their names cannot clash with the list's. */
const PREFIX_OF_NO_COLUMN = 'brand_';

/**
 * `brandfill add`: puts the domains of a list on a queue on Redis, each once, for workers to look
 * up. The outcomes go to the collector of the queue. Nothing is put there before the whole list was
 * read. Adding the same list again while it waits adds nothing.
 */
export const add = defineCommand(ADD_OPTIONS, async ({ words, settings, profile, context }) => {
  const [input = ''] = words;
  const { baseUrl, params = [] } = settings;
  const api = createEndpoint({ baseUrl, params, profile: profile?.api }).queueName;
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const list = await readDomains(input, settings, signal);
    const { ref = list.name } = settings;
    const { rows, uniqueDomains, invalidRows } = list.planned;
    const added = await putOnQueue(list.domains, { settings, api, ref, signal });
    const { lookups, alreadyWaiting } = added;
    /** Of these it is unknown whether they are on the queue. */
    const notAdded = uniqueDomains - lookups - alreadyWaiting;
    describeRows(list.planned).forEach((line) => say(line));
    say(`${countOf(lookups, 'lookup')} put on the queue, with the reference '${ref}'.`);
    if (alreadyWaiting > 0)
      say(
        `${formatCount(alreadyWaiting)} waited there already and are not looked up twice; their outcomes come with this reference too.`,
      );
    if (notAdded > 0)
      say(
        `Interrupted: ${formatCount(notAdded)} were not added; run the same command again to add them.`,
      );
    if (settings.json) {
      const duplicateRows = rows - invalidRows - uniqueDomains;
      const counts = { rows, uniqueDomains, duplicateRows, invalidRows, ...added, notAdded };
      print(JSON.stringify({ ...counts, ref, api }));
    }
    if (notAdded > 0) return EXIT.interrupted;
    // As for a run that finds nothing: a list of nothing but invalid rows is hardly the one that
    // was meant.
    return rows > 0 && uniqueDomains === 0 ? EXIT.someFailed : EXIT.ok;
  });
});

type Settings = SettingsOf<typeof ADD_OPTIONS>;

/** Reads all rows. */
async function readDomains(input: string, settings: Settings, signal: AbortSignal) {
  const opening = { ...settings, prefix: PREFIX_OF_NO_COLUMN, spoolFolder: tmpdir(), signal };
  const list = await openList(input, opening);
  try {
    const { source, format } = list;
    const column = chooseDomainColumn(source, format, settings.domainColumn);
    const opened = { input: source.name, format: format.description, column } as const;
    say(inOneLine(describeInput({ type: 'opened', ...opened })));
    const domains = new Set<string>();
    const { planned } = await makePlan({
      source,
      format,
      column,
      readDomain: createDomainReader({ ...settings, column }),
      signal,
      kindOf: (domain) => {
        domains.add(domain);
        return 'due';
      },
      index: { append: async () => {} },
    });
    assertColumnsThere(source, format, [column]);
    return { planned, domains: [...domains], name: basename(source.name) };
  } finally {
    await list.close();
  }
}

interface Adding {
  readonly settings: Settings;
  readonly api: string;
  readonly ref: string;
  readonly signal: AbortSignal;
}

/** Puts domains on the queue, until the signal fires. */
async function putOnQueue(domains: readonly string[], { settings, api, ref, signal }: Adding) {
  const { interactive: isInteractive = false } = settings;
  let counts = { lookups: 0, alreadyWaiting: 0 };
  await withQueue({ settings, onNotice: say }, async ({ queue, redis, closer }) => {
    const producer = closer.add(new queue.Producer({ redis, queue: api, ref, isInteractive }));
    ({ counts } = producer);
    if (await producer.isPaused()) {
      say(`The queue '${api}' is paused: these lookups wait until somebody resumes it.`);
    }
    await producer.add(domains, signal);
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return counts;
}
