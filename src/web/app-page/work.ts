import { type Signal, signal, useSignal } from '@preact/signals';
import { type Fault, faultOf } from './client.ts';

/** Something that is asked of the server, and what became of it. */
export interface Work {
  /** The name of what is under way. */
  readonly busy: Signal<string | undefined>;
  readonly fault: Signal<Fault | undefined>;
  /** Does one thing at a time; what fails is shown, not thrown. */
  start(name: string, work: () => Promise<void>): void;
}

export function useWork(): Work {
  const busy = useSignal<string | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const start: Work['start'] = (name, work) => {
    if (busy.peek() !== undefined) return;
    busy.value = name;
    fault.value = undefined;
    work()
      .catch((error: unknown) => {
        fault.value = faultOf(error);
      })
      .finally(() => {
        busy.value = undefined;
      });
  };
  return { busy, fault, start };
}

/** What is read out to those who hear the page. */
export const announced = signal('');

/** Tells those who hear the page what others see at a glance. */
export function announce(text: string): void {
  announced.value = text;
}
