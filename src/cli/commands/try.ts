import { TRY_OPTIONS, tryJob } from '../../api/try.ts';
import { countOf, formatDuration, formatUnits } from '../../common/format.ts';
import { sentenceOn } from '../../common/reasons.ts';
import { printable, printableLines, shortenTo } from '../../common/text.ts';
import { flag } from '../../options/kinds.ts';
import { option, under } from '../../options/option.ts';
import { toJob } from '../../profile/job.ts';
import { textOfCell } from '../../rows/csv/csv-writer.ts';
import type { Trial } from '../../run/trial.ts';
import { describeStop, endingOf } from '../../watch/describe.ts';
import type { RunEvent } from '../../watch/events.ts';
import { adviseOn } from '../../watch/row-reasons.ts';
import { createStatusCounts } from '../../watch/run-view.ts';
import { STATUSES } from '../../watch/words.ts';
import { defineCommand, print, say, untilInterrupted } from './command.ts';

const SHOWN_OPTIONS = under('What is shown', {
  explain: option(flag(), {
    help: 'say what each answer means, and which rule of the profile decided',
  }),
  json: option(flag(), { help: 'print everything to standard output as JSON' }),
});

/** `brandfill try` */
export const tryCommand = defineCommand({ ...TRY_OPTIONS, ...SHOWN_OPTIONS }, async (call) => {
  const { words, settings, context } = call;
  const [text = ''] = words;
  const { json = false, explain = false, fields } = settings;
  const job = toJob(call);
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const trial = await tryJob(text, job, { signal, onEvent: createReporter() });
    const end = describeTrial(trial, text, Date.now());
    if (explain && !json) describeCalls(trial).forEach(say);
    if (json && !trial.answer) end.forEach(say);
    if (json) print(JSON.stringify(trial));
    else print(...end, ...describeAnswer(trial, fields !== undefined));
    const { stopped, status } = trial;
    return endingOf({ stopped, statuses: { ...createStatusCounts(), [status]: 1 } }).exitCode;
  });
});

/** Reports the events that are worth knowing while somebody waits. */
function createReporter(): (event: RunEvent) => void {
  let isQuiet = false;
  return (event) => {
    if (event.type === 'notice') say(`Note: ${event.message}`);
    if (event.type === 'stopping') isQuiet = true;
    if (event.type !== 'progress' || isQuiet || event.throttled === 0) return;
    isQuiet = true;
    say(
      'Note: The API throttles calls (429 and the like): waiting until it lets calls through again.',
    );
  };
}

const MOST_LINES = 40;
const LONGEST_CELL = 60;

/**
 * Describes in a line how the lookup of a domain ended, and what was typed if that is something
 * else.
 */
function describeTrial(trial: Trial, text: string, nowMs: number): readonly string[] {
  const { domain, stopped, isFromStore, fetchedAt = '', status, said, httpStatus } = trial;
  const ageMs = Math.max(0, nowMs - Date.parse(fetchedAt));
  const cost = isFromStore
    ? `From the store, fetched ${formatDuration(ageMs)} ago (${fetchedAt}); no call was made. --refresh asks again.`
    : `${countOf(trial.calls, 'call')}, ${formatDuration(trial.elapsedMs)}.`;
  const advice = status === 'found' ? '' : ` ${adviseOn(trial)}`;
  const words = said === undefined ? '' : ` It says: '${printable(said)}'.`;
  const doubt = (status !== 'pending' && DOUBTS[httpStatus ?? 0]) || '';
  const of = httpStatus === undefined ? '' : ` (${httpStatus})`;
  const outcome = `${STATUSES[status].name}${of}.${advice}${words}${doubt} ${cost}`;
  // The words for runs speak of the first five calls; here there is only one.
  const seen = stopped?.seen && `${sentenceOn(stopped.seen)} Nothing of it is kept.`;
  const end = stopped ? `nothing learned. ${seen ?? describeStop(stopped)}` : outcome;
  const typed = text === domain ? [] : [`'${printable(text)}' is looked up as ${domain}.`];
  return [...typed, `${domain}: ${end}`];
}

/** One answer alone does not show whom it is about. */
const DOUBTS: Readonly<Record<number, string>> = {
  403: ' If it refuses others too, check --auth and what the credential is allowed.',
  404: ' If it must know it, check --base-url: a wrong path has this answer too.',
};

const HINT = 'To choose columns: --fields NAME=JMESPath,NAME=JMESPath,… (docs/columns.md).';

/**
 * Shows in lines the answer, and the name, JMESPath and value of each column that it makes.
 *
 * @param hasFields whether the columns are those of `--fields`
 */
function describeAnswer({ answer, columns }: Trial, hasFields: boolean): readonly string[] {
  if (!answer) return [];
  const json = printableLines(JSON.stringify(answer, undefined, 2)).split('\n');
  const left = json.length - MOST_LINES;
  const rows = [
    ['column', 'JMESPath', 'value'] as const,
    ...columns.map(({ name, expression = '(all else)', value }) => {
      const text = shortenTo(printable(textOfCell(value)), LONGEST_CELL);
      return [printable(name), printable(expression), text] as const;
    }),
  ];
  const widthOf = (at: 0 | 1): number =>
    Math.min(40, Math.max(...rows.map((row) => row[at].length)));
  return [
    '',
    ...json.slice(0, MOST_LINES).map((line) => line.replace(/^(.{160}).+/, '$1…')),
    ...(left > 0 ? [`… ${left} more lines; --json shows all`] : []),
    '',
    ...rows.map(([name, way, value]) =>
      `${name.padEnd(widthOf(0))}  ${way.padEnd(widthOf(1))}  ${value}`.trimEnd(),
    ),
    ...(hasFields ? [] : ['', HINT]),
  ];
}

/** Says of each answer what it means, and what decided. */
function describeCalls({ answers }: Trial): readonly string[] {
  return answers.map(({ httpStatus = 'no answer', means, rule, when, waitMs, to, bill }, at) => {
    const by = rule === undefined ? 'no rule fits, as without a profile' : `rule ${rule}: ${when}`;
    const wait = waitMs === undefined ? '' : `, again in ${formatDuration(waitMs)}`;
    if (to !== undefined)
      return `Call ${at + 1}: ${httpStatus} leads to ${printable(to)}, which is asked next.`;
    const cost = bill ? ` Billed: ${formatUnits(bill)}.` : '';
    return `Call ${at + 1}: ${httpStatus} means ${means}${wait} (${printable(by)}).${cost}`;
  });
}
