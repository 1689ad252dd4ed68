import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { api, ask } from '../api.ts';
import { Button, Choice, Field, Note, Select, Step } from '../components.tsx';
import { type AppState, goBack, useWork } from '../state.ts';

/** As `--auth` has them; what ends in a colon wants a name. */
const AUTHS = [
  ['bearer', 'As a bearer token (usual)'],
  ['header:', 'In a header'],
  ['query:', 'In the address'],
  ['basic', 'As user and password (basic)'],
  ['none', 'It needs no key'],
] as const;

/** Which API is asked, and with which key. */
export function ConnectStep({ app }: { readonly app: AppState }): JSX.Element {
  const { connection, profiles } = app;
  const work = useWork();
  const [how = 'bearer', name = ''] = (connection?.auth ?? '').split(/(?<=:)/).filter(Boolean);
  const form = useSignal({
    api: connection?.api ?? 'rehearsal',
    baseUrl: connection?.baseUrl ?? '',
    how,
    name,
    apiKey: '',
    keepKey: connection?.isKeyKept ?? false,
    price: connection?.price ?? '',
  });
  const set = (change: Partial<(typeof form)['value']>): void => {
    form.value = { ...form.value, ...change };
  };
  const { how: auth, name: authName, ...typed } = form.value;
  const profile = profiles.find((one) => one.name === typed.api);
  const isRehearsal = typed.api === 'rehearsal';
  const isDescribed = typed.api === '';
  const needsKey = profile?.needsKey ?? (isDescribed && auth !== 'none');
  const connect = (): void =>
    work.start('connect', async () => {
      const json = { ...typed, auth: `${auth}${authName.trim()}` };
      await ask(api.connection.$post({ json }));
      goBack(connection?.api === typed.api && connection.baseUrl === typed.baseUrl);
    });
  return (
    <Step
      title="Who knows your companies?"
      lead="Brandfill asks an API about each company of your list. Rehearse first if you like: it costs nothing and needs no key."
      fault={work.fault.value}
      actions={
        <>
          <Button kind="primary" onPress={connect} isBusy={work.isBusy()}>
            {isRehearsal ? 'Rehearse' : 'Connect'}
          </Button>
          {connection ? <Button onPress={() => goBack(true)}>Leave it as it is</Button> : null}
        </>
      }
    >
      <Select
        label="What to ask"
        value={typed.api}
        onChange={(api) => set({ api })}
        options={[
          ['rehearsal', 'Rehearse, with made-up answers'],
          ...profiles.map(({ name, title }) => [name, title] as const),
          ['', 'Another API, by its address'],
        ]}
      />
      {profile?.about ? <Note kind="info">{profile.about}</Note> : null}
      {isDescribed ? <DescribedApi given={form.value} set={set} /> : null}
      {needsKey ? (
        <Key given={form.value} set={set} isKnown={connection?.hasKey ?? false} onEnter={connect} />
      ) : null}
      {isRehearsal ? null : (
        <Field
          label={
            profile?.unit === undefined
              ? 'Price of a call'
              : `What one costs (billed in ${profile.unit})`
          }
          value={typed.price}
          placeholder="not known"
          hint="Such as 0.01 EUR, to show what your list costs."
          onInput={(price) => set({ price })}
        />
      )}
    </Step>
  );
}

/** What somebody has typed so far. */
interface Given {
  readonly baseUrl: string;
  readonly how: string;
  readonly name: string;
  readonly apiKey: string;
  readonly keepKey: boolean;
}

interface PartProps {
  readonly given: Given;
  readonly set: (change: Partial<Given>) => void;
}

/** Where an API is for which there is no profile. */
function DescribedApi({ given, set }: PartProps): JSX.Element {
  return (
    <>
      <Field
        label="Address of the API"
        value={given.baseUrl}
        placeholder="https://api.example.com"
        hint="It is asked for …/v1/brand?domain=acme.com"
        onInput={(baseUrl) => set({ baseUrl })}
      />
      <Select
        label="How it wants the key"
        value={given.how}
        onChange={(how) => set({ how, name: '' })}
        options={AUTHS}
      />
      {given.how.endsWith(':') ? (
        <Field
          label={given.how === 'header:' ? 'Name of the header' : 'Name in the address'}
          value={given.name}
          onInput={(name) => set({ name })}
        />
      ) : null}
    </>
  );
}

function Key({
  given,
  set,
  isKnown,
  onEnter,
}: PartProps & { readonly isKnown: boolean; readonly onEnter: () => void }): JSX.Element {
  return (
    <>
      <Field
        label={given.how === 'basic' ? 'User and password, as user:password' : 'Your key'}
        isSecret
        value={given.apiKey}
        hint={
          isKnown
            ? 'Leave it empty to keep the one that is known. It is never shown again.'
            : 'It goes to the API and nowhere else, and is never shown again.'
        }
        onInput={(apiKey) => set({ apiKey })}
        onEnter={onEnter}
      />
      <Choice
        label="Keep the key on this computer"
        hint="In a file that only you can read. Otherwise it is forgotten when Brandfill is closed."
        isChosen={given.keepKey}
        onChange={(keepKey) => set({ keepKey })}
      />
    </>
  );
}
