import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { api, ask } from '../api.ts';
import { Button, Choice, Field, NumberField, Select, Step } from '../components.tsx';
import { type AppState, goTo, useWork } from '../state.ts';

const WAYS = [
  ['sandbox', 'Rehearse', 'Made-up answers from this computer. Free, for a first try.'],
  ['profile', 'A service that Brandfill knows', 'Choose it and type your key.'],
  ['described', 'Another API', 'Its address, and how it wants the key.'],
] as const;

/** As `--auth` has them; what ends in a colon wants a name. */
const AUTHS = [
  ['bearer', 'As a bearer token (usual)'],
  ['header:', 'In a header'],
  ['query:', 'In the address'],
  ['basic', 'As user and password (basic)'],
  ['none', 'It needs no key'],
] as const;

interface Form {
  readonly way: (typeof WAYS)[number][0];
  readonly profile: string;
  readonly baseUrl: string;
  readonly auth: string;
  readonly authName: string;
  readonly apiKey: string;
  readonly keepKey: boolean;
  readonly price: number | undefined;
}

function formOf({ connection, profiles }: AppState): Form {
  const known = connection?.kind === 'sandbox' ? null : connection;
  const [auth = 'bearer', authName = ''] = known?.auth.split(/(?<=:)/) ?? [];
  return {
    way: connection?.kind ?? 'sandbox',
    profile: known?.profile ?? profiles[0]?.name ?? '',
    baseUrl: known?.kind === 'described' ? known.baseUrl : '',
    auth,
    authName,
    apiKey: '',
    keepKey: known?.isKeyKept ?? false,
    price: known?.price,
  };
}

/** Which API is asked, and with which key. */
export function ConnectStep({ app }: { readonly app: AppState }): JSX.Element {
  const work = useWork();
  const form = useSignal(formOf(app));
  const set = (change: Partial<Form>): void => {
    form.value = { ...form.value, ...change };
  };
  const { way, profile, baseUrl, auth, authName, apiKey, keepKey, price } = form.value;
  const chosen = app.profiles.find(({ name }) => name === profile);
  const needsKey = way === 'profile' ? chosen?.needsKey !== false : auth !== 'none';
  const connect = (): void =>
    work.start('connect', async () => {
      const typed = { baseUrl, auth: `${auth}${authName.trim()}`, apiKey, keepKey, price };
      const json = way === 'profile' ? { ...typed, profile } : typed;
      await (way === 'sandbox'
        ? ask(api.connection.rehearse.$post())
        : ask(api.connection.$post({ json })));
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
            onChange={(auth) => set({ auth, authName: '' })}
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
            isSecret
            value={apiKey}
            hint={
              app.connection?.hasKey
                ? 'Leave it empty to keep the one that is known. It is never shown again.'
                : 'It goes to the API and nowhere else, and is never shown again.'
            }
            onInput={(apiKey) => set({ apiKey })}
            onEnter={connect}
          />
          <Choice
            type="checkbox"
            label="Keep the key on this computer"
            hint="In a file that only you can read. Otherwise it is forgotten when Brandfill is closed."
            isChosen={keepKey}
            onChange={(keepKey) => set({ keepKey })}
          />
        </>
      ) : null}
      {way === 'sandbox' ? null : (
        <NumberField
          label={way === 'profile' && chosen?.unit ? `Price in ${chosen.unit}` : 'Price of a call'}
          value={price}
          placeholder="not known"
          hint="In your currency, to show what your list costs."
          onChange={(price) => set({ price })}
        />
      )}
    </Step>
  );
}
