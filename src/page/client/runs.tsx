import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Board } from '../board.ts';
import { api, ask } from './api.ts';
import { Button, FaultNote, Note, Table } from './components.tsx';
import { count, time } from './format.ts';
import { RunCard } from './run-card.tsx';
import { useWork } from './state.ts';

/** All that goes on, and what went on lately: the dashboard, and the runs of the app. */
export function RunsPage({ board }: { readonly board: Board }): JSX.Element {
  const { runs, workers, queues, schedules, trouble } = board;
  const work = useWork();
  useEffect(() => {
    document.title = 'Runs – Brandfill';
  }, []);
  return (
    <>
      <FaultNote fault={work.fault.value} />
      {trouble === undefined ? null : <Note kind="bad">{trouble}</Note>}
      <h2>Runs</h2>
      {runs.length === 0 ? <p>No run is going on.</p> : null}
      {runs.map((view) => (
        <RunCard
          key={view.runId}
          view={view}
          onAsk={(action) =>
            work.start(`${view.runId} ${action}`, () =>
              ask(api.runs[':id'].ask.$post({ param: { id: view.runId }, json: { action } })),
            )
          }
        />
      ))}
      <Queues
        queues={queues}
        onAgain={(queue) =>
          work.start(`again ${queue}`, () =>
            ask(api.queues[':queue'].failed.$post({ param: { queue } })),
          )
        }
      />
      <Titled
        title="Workers"
        columns={['worker', 'asks', 'calls#', 'at once, at most#', 'state']}
        rows={workers.map((worker) => [
          `process ${worker.pid} on ${worker.host}`,
          worker.api,
          worker.calls > 0 ? count(worker.calls) : '–', // that of a run does not say them
          count(worker.concurrency),
          <WorkerState key={worker.id} worker={worker} />,
        ])}
      />
      <Titled
        title="Schedules"
        columns={['job', 'when', 'next', 'state', 'last run']}
        rows={schedules.map((of) => [
          of.job,
          `${of.cron} (${of.timezone})`,
          isLate(of) ? <strong class="wrong">{time(of.nextAt)}, overdue</strong> : time(of.nextAt),
          stateOf(of),
          lastOf(of),
        ])}
      />
    </>
  );
}

/** A part of the page, if there is something in it; on a phone, values stand below each other. */
function Titled(props: {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}): JSX.Element | null {
  const { title, ...table } = props;
  if (table.rows.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <Table caption={title} hasHeading isStacked {...table} />
    </>
  );
}

type Schedule = Board['schedules'][number];

function lastOf({ results: [last] }: Schedule): string {
  if (!last) return 'none yet';
  return `${time(last.finishedAt)}: ${last.headline}`;
}

/** Whether it should have begun a minute ago. */
function isLate({ nextAt, runningSince }: Schedule): boolean {
  return runningSince === undefined && Date.parse(nextAt) < Date.now() - 60_000;
}

function stateOf({ runningSince, isWaiting, isKept }: Schedule): string {
  if (runningSince !== undefined) return `running since ${time(runningSince)}`;
  if (!isKept) return 'no process is there to run it';
  return isWaiting ? 'about to run' : 'waits for its time';
}

function WorkerState({ worker }: { readonly worker: Board['workers'][number] }): JSX.Element {
  const { state, seenMs, trouble, stopped } = worker;
  if (state === 'there') return trouble ? <span class="wrong">{trouble}</span> : <>takes jobs</>;
  const at = time(new Date(seenMs).toISOString());
  const lost = `lost, silent since ${at}: it was killed, is frozen or is cut off from Redis; others get its jobs`;
  return <span class="wrong">{state === 'lost' ? lost : `stopped at ${at}: ${stopped}`}</span>;
}

interface QueuesProps extends Pick<Board, 'queues'> {
  readonly onAgain: (queue: string) => void;
}

/** What waits in Redis, and what was given up there. */
function Queues({ queues, onAgain }: QueuesProps): JSX.Element {
  return (
    <>
      <Titled
        title="Queues"
        columns={['queue', 'waiting#', 'active#', 'later#', 'failed#', 'outcomes not collected#']}
        rows={queues.map(({ queue, isPaused, jobs, uncollected }) => [
          isPaused ? `${queue} (paused through BullMQ)` : queue,
          count((jobs['wait'] ?? 0) + (jobs['prioritized'] ?? 0)),
          count(jobs['active'] ?? 0),
          count(jobs['delayed'] ?? 0),
          count(jobs['failed'] ?? 0),
          count(uncollected),
        ])}
      />
      {queues.map(({ queue, failures }) =>
        failures.length === 0 ? null : (
          <section key={queue} aria-label={`Failed jobs of ${queue}`}>
            <Table
              caption={`Failed jobs of ${queue}, the latest first`}
              columns={['job', 'failed', 'why']}
              rows={failures.map((of) => [
                of.job,
                time(new Date(of.failedMs).toISOString()),
                of.reason,
              ])}
            />
            <Button onPress={() => onAgain(queue)} label={`Take the failed jobs of ${queue} again`}>
              Take all that failed again
            </Button>
          </section>
        ),
      )}
    </>
  );
}
