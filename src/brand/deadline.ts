/** A signal that fires when time is up or when the caller gives up. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** To be called when the work is done. The signal must not be used any more. */
  clear(): void;
}

/** Bounds calls in time. */
export interface Deadlines {
  /** Starts the time of one call, which also ends when `parent` fires. */
  start(parent: AbortSignal): Deadline;
}

interface Alarm {
  readonly controller: AbortController;
  readonly timer: NodeJS.Timeout;
}

/**
 * Makes deadlines that leave nothing behind and cost little: at thousands of calls per second the
 * timers of `AbortSignal.timeout` pile up, and a controller, a timer and a listener for each call
 * cost half as much as the call. So alarms that never went off are set again, and each parent is
 * listened to once.
 */
export function createDeadlines(timeoutMs: number): Deadlines {
  const idle: Alarm[] = [];
  const running = new Map<AbortSignal, Set<AbortController>>();

  function runningUnder(parent: AbortSignal): Set<AbortController> {
    const known = running.get(parent);
    if (known) return known;
    const controllers = new Set<AbortController>();
    running.set(parent, controllers);
    parent.addEventListener('abort', () => {
      running.delete(parent);
      for (const controller of controllers) controller.abort();
    });
    return controllers;
  }

  function takeAlarm(): Alarm {
    let alarm = idle.pop();
    // One that nobody needed for so long went off in the meantime.
    while (alarm?.controller.signal.aborted) alarm = idle.pop();
    if (alarm) {
      alarm.timer.refresh();
      return alarm;
    }
    const controller = new AbortController();
    // Connections keep the process alive while a call is under way; an idle alarm must not.
    return { controller, timer: setTimeout(() => controller.abort(), timeoutMs).unref() };
  }

  return {
    start: (parent) => {
      const alarm = takeAlarm();
      const { controller, timer } = alarm;
      const controllers = runningUnder(parent);
      controllers.add(controller);
      if (parent.aborted) controller.abort();
      return {
        signal: controller.signal,
        clear: () => {
          controllers.delete(controller);
          if (controller.signal.aborted) clearTimeout(timer);
          else idle.push(alarm);
        },
      };
    },
  };
}
