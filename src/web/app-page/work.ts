import { type Signal, signal, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type Fault, faultOf } from './client.ts';

/** What is asked of the server, and what became of it. */
export interface Work {
  /** Whether something is under way, or the one of that name. */
  isBusy(name?: string): boolean;
  /** Of what failed last. */
  readonly fault: Signal<Fault | undefined>;
  /** Does something, unless the same is under way already; what fails is shown, not thrown. */
  start(name: string, work: () => Promise<void>): void;
}

export function useWork(): Work {
  const underWay = useSignal<ReadonlySet<string>>(new Set());
  const fault = useSignal<Fault | undefined>(undefined);
  return useMemo(
    () => ({
      fault,
      isBusy: (name) => (name === undefined ? underWay.value.size > 0 : underWay.value.has(name)),
      start: (name, work) => {
        if (underWay.peek().has(name)) return;
        underWay.value = new Set([...underWay.peek(), name]);
        fault.value = undefined;
        work()
          .catch((error: unknown) => {
            fault.value = faultOf(error);
          })
          .finally(() => {
            underWay.value = new Set([...underWay.peek()].filter((other) => other !== name));
          });
      },
    }),
    [],
  );
}

/** What is read out to those who hear the page. */
export const announced = signal('');

/** Tells those who hear the page what others see at a glance. */
export function announce(text: string): void {
  announced.value = text;
}
