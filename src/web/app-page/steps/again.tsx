import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Again, AppRun, AppState } from '../../app/contract.ts';
import { count } from '../../page/format.js';
import { post, read } from '../client.ts';
import { Button, DeleteButton, FaultNote, Field, Lines, Note, Step } from '../controls.tsx';
import { findRun } from '../live.ts';
import { addressOf, goTo } from '../place.ts';
import { costOf, dayAndTime, RUN_STATES, rowsOf } from '../words.ts';
import { announce, useWork } from '../work.ts';

/** What was done before, and how to do it again: by hand, every night, or as a command. */
export function AgainStep(props: {
  readonly id: string | undefined;
  readonly state: AppState;
}): JSX.Element {
  const { id, state } = props;
  const run = id === undefined ? undefined : findRun(id);
  return (
    <Step
      title={run ? `${run.list.name} again` : 'Earlier runs'}
      lead={
        run
          ? 'Companies that were asked about lately are not paid for again, so the same list next week costs only what is new.'
          : 'All runs of this folder, the latest first.'
      }
      actions={
        <>
          <Button kind="primary" onPress={() => goTo('list')}>
            Another list
          </Button>
          {run ? (
            <Button onPress={() => goTo('plan', run.list.id)}>The same list again</Button>
          ) : null}
        </>
      }
    >
      {run ? <HowAgain key={run.id} run={run} /> : null}
      <EarlierRuns runs={state.runs} />
    </Step>
  );
}

function HowAgain({ run }: { readonly run: AppRun }): JSX.Element {
  const work = useWork();
  const again = useSignal<Again | undefined>(undefined);
  const at = useSignal('02:00');
  useEffect(
    () =>
      work.start('read', async () => {
        again.value = await read<Again>(`runs/${run.id}/again`);
      }),
    [run.id],
  );
  const write = (): void =>
    work.start('write', async () => {
      again.value = await post<Again>(`runs/${run.id}/job`, { at: at.value });
      announce(`The job file is written: ${again.value.jobFile ?? ''}`);
    });
  const found = again.value;
  return (
    <>
      {run.isRehearsal ? (
        <Note kind="info">
          <p>
            This was a rehearsal, and its stand-in ends with Brandfill. Connect to a real API, run
            the list once, and have that one repeated.
          </p>
        </Note>
      ) : null}
      <section class="panel" aria-labelledby="night">
        <h3 id="night">Tomorrow night too</h3>
        <p>
          A job file says what to do and when. Written once, it runs each night without this page.
        </p>
        <div class="line">
          <Field
            label="Each night at"
            type="time"
            value={at.value}
            onInput={(value) => {
              at.value = value;
            }}
          />
          <Button onPress={write} isBusy={work.isBusy('write')} isDisabled={at.value === ''}>
            Write the job file
          </Button>
        </div>
        {found?.jobFile === undefined ? null : (
          <>
            <Note kind="good">
              <p>
                It is in <code>{found.jobFile}</code>. Now one of these has it run:
              </p>
            </Note>
            {found.schedules.map(({ title, text }) => (
              <Copied key={title} title={title} text={text} />
            ))}
            <details>
              <summary>What is in the job file</summary>
              <Copied title="The job file" text={found.job} />
            </details>
          </>
        )}
      </section>
      <section class="panel" aria-labelledby="command">
        <h3 id="command">As a command</h3>
        <p>What you just did, for a terminal. Somebody in IT may like it.</p>
        {found ? (
          <>
            {found.keyVariable === undefined ? null : (
              <p class="hint">
                The key is not in it: put it into the variable <code>{found.keyVariable}</code>{' '}
                first.
              </p>
            )}
            <Copied title="The command" text={found.command} />
          </>
        ) : null}
      </section>
      <FaultNote fault={work.fault.value} />
    </>
  );
}

/** Lines to type elsewhere, with a button that copies them. */
function Copied({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  const isCopied = useSignal(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(
      () => {
        isCopied.value = true;
        announce('Copied.');
      },
      () => announce('It could not be copied: mark it and copy it by hand.'),
    );
  };
  return (
    <figure class="copied">
      <figcaption>
        {title}
        <Button kind="quiet" onPress={copy} label={`Copy: ${title}`}>
          {isCopied.value ? 'Copied' : 'Copy'}
        </Button>
      </figcaption>
      <Lines text={text} />
    </figure>
  );
}

function EarlierRuns({ runs }: { readonly runs: readonly AppRun[] }): JSX.Element {
  const work = useWork();
  if (runs.length === 0) return <p class="empty">There is no run yet.</p>;
  const remove = (run: AppRun): void =>
    work.start(run.id, async () => {
      await post(`runs/${run.id}/delete`);
      announce(`The run of ${run.list.name} is deleted.`);
    });
  return (
    <section aria-labelledby="earlier">
      <h3 id="earlier">Earlier runs</h3>
      <ul class="rows runs">
        {runs.map((run) => (
          <li key={run.id}>
            <div>
              <a
                href={addressOf(run.result ? 'result' : 'run', run.id)}
                aria-label={`${run.list.name}, ${dayAndTime(run.startedAtMs)}`}
              >
                {run.list.name}
              </a>
              <span class={`badge ${RUN_STATES[run.state].tone}`}>
                {RUN_STATES[run.state].name}
              </span>
              {run.isRehearsal ? <span class="badge quiet">Rehearsal</span> : null}
              <span class="hint">{about(run)}</span>
            </div>
            {run.state === 'running' || run.state === 'asking' ? null : (
              <DeleteButton
                what={`the run of ${run.list.name}, ${dayAndTime(run.startedAtMs)}`}
                onDelete={() => remove(run)}
                isBusy={work.isBusy(run.id)}
              />
            )}
          </li>
        ))}
      </ul>
      <FaultNote fault={work.fault.value} />
    </section>
  );
}

function about(run: AppRun): string {
  const cost = run.cost && costOf(run.cost);
  return [
    dayAndTime(run.startedAtMs),
    run.connection,
    ...(run.statuses
      ? [`${count(run.statuses.found ?? 0)} of ${count(rowsOf(run))} rows found`]
      : []),
    ...(cost === undefined ? [] : [cost]),
  ].join(' · ');
}
