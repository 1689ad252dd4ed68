import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AppState, Connection, ConnectionRequest, TestResult } from '../../app/contract.ts';
import { duration } from '../../page/format.js';
import { post } from '../client.ts';
import { Button, Check, Choice, Field, Lines, Note, Select, Step } from '../controls.tsx';
import { goTo } from '../place.ts';
import { readNumber } from '../read-number.ts';
import { costOf, counted, STATUSES } from '../words.ts';
import { announce, useWork, type Work } from '../work.ts';

/** Which API is asked, and with which key. */
export function ConnectStep({ state }: { readonly state: AppState }): JSX.Element {
  const { connection } = state;
  const isChanging = useSignal(false);
  if (connection && !isChanging.value) {
    return (
      <ConnectedStep
        connection={connection}
        onChange={() => {
          isChanging.value = true;
        }}
      />
    );
  }
  return (
    <ChoosingStep
      state={state}
      onDone={() => {
        isChanging.value = false;
      }}
    />
  );
}

type Way = 'rehearse' | 'profile' | 'described';

function ChoosingStep(props: {
  readonly state: AppState;
  readonly onDone: () => void;
}): JSX.Element {
  const { state, onDone } = props;
  const work = useWork();
  const way = useSignal<Way>(wayOf(state.connection));
  const form = useSignal<Form>(formOf(state));
  const profile = state.profiles.find(({ name }) => name === form.value.profile);
  const connect = (): void =>
    work.start('connect', async () => {
      if (way.value === 'rehearse') {
        await post<Connection>('connection/rehearse');
        goTo('list');
      } else {
        await post<Connection>('connection', requestOf(way.value, form.value));
        onDone();
        announce('Connected. You can test it with one domain.');
      }
    });
  return (
    <Step
      title="Who knows your companies?"
      lead="Brandfill asks an API about each company of your list. Rehearse first if you like: it costs nothing and needs no key."
      fault={work.fault.value}
      actions={
        <>
          <Button
            kind="primary"
            onPress={connect}
            isBusy={work.isBusy()}
            isDisabled={way.value !== 'rehearse' && !isNumber(form.value.price)}
          >
            {way.value === 'rehearse' ? 'Rehearse' : 'Connect'}
          </Button>
          {state.connection ? (
            <Button kind="quiet" onPress={onDone}>
              Cancel
            </Button>
          ) : null}
        </>
      }
    >
      <Choice
        legend="What to ask"
        value={way.value}
        onChange={(value) => {
          way.value = value;
        }}
        options={[
          {
            value: 'rehearse',
            title: 'Rehearse',
            text: 'Made-up answers from this computer. Free, for a first try.',
          },
          {
            value: 'profile',
            title: 'A service that Brandfill knows',
            text: 'Choose it and type your key.',
          },
          {
            value: 'described',
            title: 'Another API',
            text: 'Its address, and how it wants the key.',
          },
        ]}
      />
      {way.value === 'profile' ? (
        <div class="panel">
          <Select
            label="Service"
            value={form.value.profile}
            onChange={(profile) => {
              form.value = { ...form.value, profile };
            }}
            options={state.profiles.map(({ name, title }) => ({ value: name, text: title }))}
            hint={profile?.docs ? `It is described at ${profile.docs}` : undefined}
          />
          {profile?.needsKey === false ? null : (
            <KeyFields form={form.value} set={set} onEnter={connect} state={state} />
          )}
          <PriceFields form={form.value} set={set} unit={profile?.unit} />
        </div>
      ) : null}
      {way.value === 'described' ? (
        <div class="panel">
          <Field
            label="Address of the API"
            type="url"
            value={form.value.baseUrl}
            placeholder="https://api.example.com"
            hint="It is asked for …/v1/brand?domain=acme.com"
            onInput={(baseUrl) => set({ baseUrl })}
          />
          <Select
            label="How it wants the key"
            value={form.value.auth}
            onChange={(auth) => set({ auth })}
            options={AUTHS}
          />
          {form.value.auth.endsWith(':') ? (
            <Field
              label={form.value.auth === 'header:' ? 'Name of the header' : 'Name in the address'}
              value={form.value.authName}
              placeholder={form.value.auth === 'header:' ? 'X-Api-Key' : 'api_key'}
              onInput={(authName) => set({ authName })}
            />
          ) : null}
          {form.value.auth === 'none' ? null : (
            <KeyFields form={form.value} set={set} onEnter={connect} state={state} />
          )}
          <PriceFields form={form.value} set={set} unit={undefined} />
        </div>
      ) : null}
    </Step>
  );

  function set(change: Partial<Form>): void {
    form.value = { ...form.value, ...change };
  }
}

/** What is typed, as it is typed. */
interface Form {
  readonly profile: string;
  readonly baseUrl: string;
  readonly auth: string;
  readonly authName: string;
  readonly key: string;
  readonly isKeyKept: boolean;
  readonly price: string;
  readonly rate: string;
}

const AUTHS = [
  { value: 'bearer', text: 'As a bearer token (most do)' },
  { value: 'header:', text: 'In a header of its own' },
  { value: 'query:', text: 'In the address' },
  { value: 'basic', text: 'As user and password (basic)' },
  { value: 'none', text: 'It needs no key' },
];

function wayOf(connection: Connection | null): Way {
  if (!connection || connection.kind === 'sandbox') return 'rehearse';
  return connection.kind;
}

function formOf({ connection, profiles }: AppState): Form {
  const known = connection?.kind === 'sandbox' ? null : connection;
  const [, kind = known?.auth ?? 'bearer', name = ''] =
    /^(header:|query:)(.+)$/.exec(known?.auth ?? '') ?? [];
  return {
    profile: known?.profile ?? profiles[0]?.name ?? '',
    baseUrl: known?.kind === 'described' ? known.baseUrl : '',
    auth: kind,
    authName: name,
    key: '',
    isKeyKept: known?.isKeyKept ?? false,
    price: known?.price === undefined ? '' : known.price.toLocaleString(undefined, PRICE),
    rate: known?.rate?.replace(/\/s$/, '') ?? '',
  };
}

/** Whether it is a number, or nothing yet. */
function isNumber(text: string): boolean {
  return text.trim() === '' || readNumber(text) !== undefined;
}

const PRICE = { maximumFractionDigits: 6, useGrouping: false };

function requestOf(way: Way, form: Form): ConnectionRequest {
  const auth = form.auth.endsWith(':') ? `${form.auth}${form.authName.trim()}` : form.auth;
  const rate = readNumber(form.rate);
  return {
    ...(way === 'profile'
      ? { profile: form.profile }
      : { baseUrl: form.baseUrl.trim(), auth: auth }),
    ...(form.key === '' ? {} : { apiKey: form.key.trim() }),
    keepKey: form.isKeyKept,
    price: readNumber(form.price),
    ...(rate === undefined ? {} : { rate: `${rate}/s` }),
  };
}

interface FormProps {
  readonly form: Form;
  readonly set: (change: Partial<Form>) => void;
}

function KeyFields(
  props: FormProps & { readonly state: AppState; readonly onEnter: () => void },
): JSX.Element {
  const { form, set, state, onEnter } = props;
  return (
    <>
      <Field
        label={form.auth === 'basic' ? 'User and password, as user:password' : 'Your key'}
        type="password"
        autoComplete="off"
        value={form.key}
        hint={
          state.connection?.hasKey
            ? 'Leave it empty to keep the one that is known. It is never shown again.'
            : 'It goes to the API and nowhere else, and is never shown again.'
        }
        onInput={(key) => set({ key })}
        onEnter={onEnter}
      />
      <Check
        label="Keep the key on this computer"
        hint="In a file that only you can read. Otherwise it is forgotten when Brandfill is closed."
        isChecked={form.isKeyKept}
        onChange={(isKeyKept) => set({ isKeyKept })}
      />
    </>
  );
}

function PriceFields(props: FormProps & { readonly unit: string | undefined }): JSX.Element {
  const { form, set, unit } = props;
  return (
    <details>
      <summary>What it costs, and how fast (if you know)</summary>
      <div class="pair">
        <Field
          label={unit ? `Price of one of its ${unit}` : 'Price of a call'}
          value={form.price}
          hint="To show what your list costs, in your currency."
          error={isNumber(form.price) ? undefined : 'Type a number, such as 0.01.'}
          onInput={(price) => set({ price })}
        />
        <Field
          label="Calls per second, at most"
          value={form.rate}
          hint="Leave it empty: Brandfill finds out what the API allows."
          onInput={(rate) => set({ rate })}
        />
      </div>
    </details>
  );
}

function ConnectedStep(props: {
  readonly connection: Connection;
  readonly onChange: () => void;
}): JSX.Element {
  const { connection, onChange } = props;
  const work = useWork();
  const domain = useSignal('');
  const result = useSignal<TestResult | undefined>(undefined);
  const test = (): void =>
    work.start('test', async () => {
      result.value = undefined;
      result.value = await post<TestResult>('connection/test', { domain: domain.value.trim() });
      announce(result.value.message);
    });
  return (
    <Step
      title={
        connection.kind === 'sandbox' ? 'You are rehearsing' : `Connected: ${connection.title}`
      }
      lead={
        connection.kind === 'sandbox'
          ? 'Answers are made up on this computer. They look like real ones, and cost nothing.'
          : aboutKey(connection)
      }
      fault={work.fault.value}
      actions={
        <>
          <Button kind="primary" onPress={() => goTo('list')}>
            Go on to your list
          </Button>
          <Button onPress={onChange}>
            {connection.kind === 'sandbox' ? 'Use a real API' : 'Change'}
          </Button>
          {connection.hasKey && connection.kind !== 'sandbox' ? <ForgetButton work={work} /> : null}
        </>
      }
    >
      <div class="panel">
        <h3>Test with one domain</h3>
        <div class="line">
          <Field
            label="A company that you know"
            value={domain.value}
            placeholder="acme.com"
            hint={connection.kind === 'sandbox' ? 'Free.' : 'One call, or a few where it fails.'}
            onInput={(text) => {
              domain.value = text;
            }}
            onEnter={test}
          />
          <Button
            onPress={test}
            isBusy={work.isBusy('test')}
            isDisabled={domain.value.trim() === ''}
          >
            Test
          </Button>
        </div>
        {result.value ? <TestAnswer result={result.value} /> : null}
      </div>
    </Step>
  );
}

function ForgetButton({ work }: { readonly work: Work }): JSX.Element {
  const forget = (): void =>
    work.start('forget', async () => {
      await post('connection/forget');
      announce('The key is forgotten.');
    });
  return (
    <Button kind="quiet" onPress={forget} isBusy={work.isBusy('forget')}>
      Forget the key
    </Button>
  );
}

function aboutKey({ hasKey, isKeyKept, baseUrl }: Connection): string {
  const key = hasKey
    ? isKeyKept
      ? 'Your key is kept in a file that only you can read.'
      : 'Your key is in memory, until Brandfill is closed.'
    : 'There is no key.';
  return `At ${baseUrl}. ${key}`;
}

function TestAnswer({ result }: { readonly result: TestResult }): JSX.Element {
  const { message, isGood, calls, cost, elapsedMs, isFromStore } = result;
  const why = decided(result);
  return (
    <div class="answer">
      <Note kind={isGood ? 'good' : 'bad'}>
        <p>
          <strong>{result.domain}:</strong>{' '}
          {isGood ? `${STATUSES[result.status].name}. ${message}` : message}
        </p>
      </Note>
      <dl class="facts">
        <div>
          <dt>Cost</dt>
          <dd>
            {isFromStore
              ? 'Nothing: it was asked before'
              : `${counted(calls, 'call')}${costOf(cost) === undefined ? '' : `, ${costOf(cost)}`}`}
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>{elapsedMs < 1_000 ? 'under a second' : duration(elapsedMs)}</dd>
        </div>
        {why === undefined ? null : (
          <div>
            <dt>What decided</dt>
            <dd>{why}</dd>
          </div>
        )}
      </dl>
      {result.columns.length > 0 ? (
        <details open>
          <summary>What it knows ({result.columns.length} columns)</summary>
          <dl class="known">
            {result.columns.map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      ) : null}
      {result.answer === undefined ? null : (
        <details>
          <summary>The answer as it came</summary>
          <Lines text={JSON.stringify(result.answer, null, 2)} />
        </details>
      )}
    </div>
  );
}

/** What of the answer said what it means: a rule of the profile, or else its status. */
function decided({ rule, httpStatus }: TestResult): string | undefined {
  const means = rule ? `: ${rule.means.replaceAll('_', ' ')}` : '';
  if (rule?.number !== undefined) {
    const when = rule.when === undefined ? '' : ` (${rule.when})`;
    return `Rule ${rule.number} of the profile${when}${means}`;
  }
  return httpStatus === undefined ? undefined : `Status ${httpStatus}${means}`;
}
