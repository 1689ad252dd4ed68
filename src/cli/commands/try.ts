import { TRY_OPTIONS, tryJob } from '../../api/try.ts';
import { flag } from '../../options/kinds.ts';
import { option, under } from '../../options/option.ts';
import { toJob } from '../../profile/job.ts';
import { endingOf } from '../../watch/describe.ts';
import type { RunEvent } from '../../watch/events.ts';
import { createStatusCounts } from '../../watch/run-view.ts';
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
    const shown = await import('./describe-trial.ts');
    const end = shown.describeTrial(trial, text, Date.now());
    if (explain && !json) shown.describeCalls(trial).forEach(say);
    if (json && !trial.answer) end.forEach(say);
    if (json) print(JSON.stringify(trial));
    else print(...end, ...shown.describeAnswer(trial, fields !== undefined));
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
