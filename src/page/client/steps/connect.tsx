import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { api, ask } from '../api.ts';
import { Button, Choice, Field, NumberField, Select, Step } from '../components.tsx';
import { type AppState, announce, goTo, useWork } from '../state.ts';

type Connection = NonNullable<AppState['connection']>;

/** What is typed, as it is typed. */
interface Form {
  readonly way: Connection['kind'];
  readonly profile: string;
  readonly baseUrl: string;
  readonly auth: string;
  readonly authName: string;
  readonly key: string;
  readonly isKeyKept: boolean;
  readonly price: number | undefined;
  /** Calls per second. */
  readonly rate: number | undefined;
}

const AUTHS = [
  ['bearer', 'As a bearer token (most do)'],
  ['header:', 'In a header of its own'],
  ['query:', 'In the address'],
  ['basic', 'As user and password (basic)'],
  ['none', 'It needs no key'],
] as const;

const WAYS = [
  ['sandbox', 'Rehearse', 'Made-up answers from this computer. Free, for a first try.'],
  ['profile', 'A service that Brandfill knows', 'Choose it and type your key.'],
  ['described', 'Another API', 'Its address, and how it wants the key.'],
] as const;

function formOf({ connection, profiles }: AppState): Form {
  const known = connection?.kind === 'sandbox' ? null : connection;
  const [, kind = known?.auth ?? 'bearer', name = ''] =
    /^(header:|query:)(.+)$/.exec(known?.auth ?? '') ?? [];
  return {
    way: connection?.kind ?? 'sandbox',
    profile: known?.profile ?? profiles[0]?.name ?? '',
    baseUrl: known?.kind === 'described' ? known.baseUrl : '',
    auth: kind,
    authName: name,
    key: '',
    isKeyKept: known?.isKeyKept ?? false,
    price: known?.price,
    rate: Number.parseFloat(known?.rate ?? '') || undefined,
  };
}

/** Which API is asked, and with which key. */
export function ConnectStep({ app }: { readonly app: AppState }): JSX.Element {
  const work = useWork();
  const form = useSignal(formOf(app));
  const set = (change: Partial<Form>): void => {
    form.value = { ...form.value, ...change };
  };
  const { way, profile, baseUrl, auth, authName, key, isKeyKept, price, rate } = form.value;
  const chosen = app.profiles.find(({ name }) => name === profile);
  const needsKey = way === 'profile' ? chosen?.needsKey !== false : auth !== 'none';
  const connect = (): void =>
    work.start('connect', async () => {
      if (way === 'sandbox') {
        await ask(api.connection.rehearse.$post());
        return goTo('list');
      }
      const json = {
        ...(way === 'profile'
          ? { profile }
          : { baseUrl, auth: auth.endsWith(':') ? `${auth}${authName.trim()}` : auth }),
        apiKey: key.trim() || undefined,
        keepKey: isKeyKept,
        price,
        rate: rate ? `${rate}/s` : undefined,
      };
      await ask(api.connection.$post({ json }));
      announce('It is kept.');
      goTo('list');
    });
  return (
    <Step
      title="Who knows your companies?"
      lead="Brandfill asks an API about each company of your list. Rehearse first if you like: it costs nothing and needs no key."
      fault={work.fault.value}
      actions={
        <>
          <Button kind="primary" onPress={connect} isBusy={work.isBusy()}>
            {way === 'sandbox' ? 'Rehearse' : 'Connect'}
          </Button>
          {app.connection ? <Button onPress={() => goTo('list')}>Leave it as it is</Button> : null}
          {app.connection?.hasKey ? (
            <Button
              kind="link"
              onPress={() => work.start('forget', () => ask(api.connection.forget.$post()))}
            >
              Forget the key
            </Button>
          ) : null}
        </>
      }
    >
      <fieldset class="pair">
        <legend>What to ask</legend>
        {WAYS.map(([kind, title, text]) => (
          <Choice
            key={kind}
            type="radio"
            name="way"
            label={title}
            hint={text}
            isChosen={way === kind}
            onChange={() => set({ way: kind })}
          />
        ))}
      </fieldset>
      {way === 'profile' ? (
        <Select
          label="Service"
          value={profile}
          onChange={(profile) => set({ profile })}
          options={app.profiles.map(({ name, title }) => [name, title])}
        />
      ) : null}
      {way === 'described' ? (
        <>
          <Field
            label="Address of the API"
            value={baseUrl}
            placeholder="https://api.example.com"
            hint="It is asked for …/v1/brand?domain=acme.com"
            onInput={(baseUrl) => set({ baseUrl })}
          />
          <Select
            label="How it wants the key"
            value={auth}
            onChange={(auth) => set({ auth })}
            options={AUTHS}
          />
          {auth.endsWith(':') ? (
            <Field
              label={auth === 'header:' ? 'Name of the header' : 'Name in the address'}
              value={authName}
              onInput={(authName) => set({ authName })}
            />
          ) : null}
        </>
      ) : null}
      {way !== 'sandbox' && needsKey ? (
        <>
          <Field
            label={auth === 'basic' ? 'User and password, as user:password' : 'Your key'}
            type="password"
            value={key}
            hint={
              app.connection?.hasKey
                ? 'Leave it empty to keep the one that is known. It is never shown again.'
                : 'It goes to the API and nowhere else, and is never shown again.'
            }
            onInput={(key) => set({ key })}
            onEnter={connect}
          />
          <Choice
            type="checkbox"
            label="Keep the key on this computer"
            hint="In a file that only you can read. Otherwise it is forgotten when Brandfill is closed."
            isChosen={isKeyKept}
            onChange={(isKeyKept) => set({ isKeyKept })}
          />
        </>
      ) : null}
      {way === 'sandbox' ? null : (
        <details>
          <summary>What it costs, and how fast</summary>
          <div class="pair">
            <NumberField
              label={
                chosen?.unit && way === 'profile'
                  ? `Price of one of its ${chosen.unit}`
                  : 'Price of a call'
              }
              value={price}
              hint="To show what your list costs, in your currency."
              onChange={(price) => set({ price })}
            />
            <NumberField
              label="Calls per second, at most"
              value={rate}
              hint="Left empty, it is found out."
              onChange={(rate) => set({ rate })}
            />
          </div>
        </details>
      )}
    </Step>
  );
}
