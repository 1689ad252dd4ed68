import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { AppRun, AppState, PlanView, RunRequest } from '../../app/contract.ts';
import { count, duration, rate } from '../../page/format.js';
import { type Fault, faultOf, post } from '../client.ts';
import { Button, Check, Field, Figures, Note, Progress, Step } from '../controls.tsx';
import { goTo } from '../place.ts';
import { PlanFigures, WithoutAddress } from '../plan-figures.tsx';
import { readNumber } from '../read-number.ts';
import { costOf, counted } from '../words.ts';
import { useWork } from '../work.ts';

/** What the run will do and cost, and how far it may go. */
export function PlanStep(props: { readonly id: string; readonly state: AppState }): JSX.Element {
  const { id, state } = props;
  const planFault = useSignal<Fault | undefined>(undefined);
  const starting = useWork();
  const plan = useSignal<PlanView | undefined>(undefined);
  const bounds = useSignal<Bounds>(NO_BOUNDS);
  const isOld = useSignal(true);
  const faults = faultsOf(bounds.value);
  const request = requestOf(bounds.value);
  const asked = JSON.stringify(request);
  useEffect(() => {
    if (Object.keys(faults).length > 0) return;
    isOld.value = true;
    let isWanted = true;
    const timer = setTimeout(
      () => {
        planFault.value = undefined;
        post<PlanView>(`lists/${id}/plan`, request)
          .then((made) => {
            if (isWanted) plan.value = made;
          })
          .catch((error: unknown) => {
            if (isWanted) planFault.value = faultOf(error);
          })
          .finally(() => {
            if (isWanted) isOld.value = false;
          });
      },
      plan.peek() ? QUIET_MS : 0,
    );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [id, asked]);
  const start = (): void =>
    starting.start('start', async () => {
      const run = await post<AppRun>(`lists/${id}/runs`, request);
      goTo('run', run.id);
    });
  const found = plan.value;
  const set = (change: Partial<Bounds>): void => {
    bounds.value = { ...bounds.value, ...change };
  };
  const isFree = state.connection?.kind === 'sandbox';
  return (
    <Step
      title="Ready to start?"
      lead="Nothing has been asked yet, apart from the companies that you looked at. This is what the run will do."
      fault={starting.fault.value ?? planFault.value}
      actions={
        <>
          <Button
            kind="primary"
            onPress={start}
            isBusy={starting.isBusy()}
            isDisabled={!found || isOld.value || Object.keys(faults).length > 0}
          >
            {bounds.value.isFirstAsked && found && found.calls > FIRST
              ? `Start with the first ${FIRST}`
              : 'Start'}
          </Button>
          <Button onPress={() => goTo('columns', id)}>Back to the columns</Button>
        </>
      }
    >
      {found ? (
        <div aria-busy={isOld.value} aria-live="polite">
          <p class="headline">
            <strong>{counted(found.calls, 'call')}</strong>
            {found.calls < found.lookups
              ? `, for ${count(found.calls)} of ${counted(found.lookups, 'company', 'companies')}`
              : `, one for each of ${counted(found.lookups, 'company', 'companies')}`}
            {'.'}
          </p>
          <Figures
            items={[
              {
                name: 'It will cost',
                value: isFree ? 'Nothing' : (costOf(found.cost) ?? 'Not known'),
                note: isFree
                  ? 'a rehearsal'
                  : costOf(found.cost) === undefined
                    ? 'say what a call costs, in Connect'
                    : 'at most, if nothing is asked twice',
              },
              {
                name: 'It will take',
                value:
                  found.durationMs === undefined
                    ? 'Not known yet'
                    : `About ${duration(found.durationMs)}`,
                note:
                  found.ratePerSecond === undefined
                    ? 'the pace shows when it runs'
                    : `at ${rate(found.ratePerSecond)}`,
              },
            ]}
          />
          <PlanFigures plan={found} />
          <WithoutAddress plan={found} />
          {found.notices.map((notice) => (
            <Note key={notice} kind="warning">
              <p>{notice}</p>
            </Note>
          ))}
        </div>
      ) : planFault.value ? null : (
        <Progress label="Counting" part={undefined} text="Reading the whole list…" />
      )}
      <fieldset class="bounds">
        <legend>How far may it go?</legend>
        <Check
          label={`The first ${FIRST}, then ask me`}
          hint="You see what came of them and what it cost, and say whether it goes on."
          isChecked={bounds.value.isFirstAsked}
          onChange={(isFirstAsked) => set({ isFirstAsked })}
        />
        <div class="pair">
          <Field
            label="Calls, at most"
            value={bounds.value.calls}
            placeholder="no bound"
            error={faults.calls}
            onInput={(calls) => set({ calls })}
          />
          {state.connection?.unit === undefined || isFree ? null : (
            <Field
              label={`Cost in ${state.connection.unit}, at most`}
              value={bounds.value.cost}
              placeholder="no bound"
              error={faults.cost}
              onInput={(cost) => set({ cost })}
            />
          )}
        </div>
      </fieldset>
    </Step>
  );
}

const QUIET_MS = 300;
/** How many companies are asked about before somebody is. */
const FIRST = 20;

interface Bounds {
  readonly isFirstAsked: boolean;
  readonly calls: string;
  readonly cost: string;
}

const NO_BOUNDS: Bounds = { isFirstAsked: false, calls: '', cost: '' };

function faultsOf({ calls, cost }: Bounds): { readonly calls?: string; readonly cost?: string } {
  const isNumber = (text: string): boolean => text.trim() === '' || (readNumber(text) ?? 0) > 0;
  const isWhole = (text: string): boolean =>
    text.trim() === '' || Number.isInteger(readNumber(text) ?? 0.5);
  return {
    ...(isNumber(calls) && isWhole(calls) ? {} : { calls: 'Type a whole number above 0.' }),
    ...(isNumber(cost) ? {} : { cost: 'Type a number above 0.' }),
  };
}

function requestOf({ isFirstAsked, calls, cost }: Bounds): RunRequest {
  return {
    maxCalls: readNumber(calls),
    maxCost: readNumber(cost),
    ...(isFirstAsked ? { firstAskMe: FIRST } : {}),
  };
}
