/** Bounds one call in time. Must not be used after `clear`. */
export interface Deadline {
  /** Whether the time is up or the parent signal has fired. */
  readonly isOver: boolean;
  /**
   * Called once, when the deadline is over. The work under it sets this to a function that stops
   * it.
   */
  onOver: (() => void) | undefined;
  /** Must be called when the work is done. */
  readonly clear: () => void;
}

/** Bounds calls in time. */
export interface Deadlines {
  /** Starts the time of one call. The deadline also ends when `parent` fires. */
  start(parent: AbortSignal): Deadline;
}

interface Alarm {
  isOver: boolean;
  /** Its timer has fired. */
  isDue: boolean;
  onOver: (() => void) | undefined;
  /** All alarms with the same parent. */
  group: Set<Alarm>;
  readonly timer: NodeJS.Timeout;
  readonly clear: () => void;
}

/**
 * Creates deadlines that leave nothing behind and cost little. At thousands of calls per second the
 * timers of `AbortSignal.timeout` pile up. A controller, a timer and a listener for each call cost
 * half as much as the call. So alarms that never went off are reused, and each parent has one
 * listener.
 */
export function createDeadlines(timeoutMs: number): Deadlines {
  const idle: Alarm[] = [];
  const running = new Map<AbortSignal, Set<Alarm>>();

  function groupUnder(parent: AbortSignal): Set<Alarm> {
    const known = running.get(parent);
    if (known) return known;
    const group = new Set<Alarm>();
    running.set(parent, group);
    parent.addEventListener('abort', () => {
      running.delete(parent);
      for (const alarm of group) ring(alarm);
    });
    return group;
  }

  /**
   * Reads the connections before the alarm goes off. When a process was frozen for longer than a
   * call may take (a laptop that slept, a container that was paused), its timers are due before it
   * has read the answers that lie in its connections.
   */
  function ringAfterReading(alarm: Alarm): void {
    alarm.isDue = true;
    setImmediate(() => {
      if (alarm.isDue) ring(alarm);
    });
  }

  function ring(alarm: Alarm): void {
    if (alarm.isOver) return;
    alarm.isOver = true;
    alarm.onOver?.();
  }

  function clear(alarm: Alarm): void {
    alarm.group.delete(alarm);
    alarm.onOver = undefined;
    if (alarm.isOver) clearTimeout(alarm.timer);
    else idle.push(alarm);
  }

  function takeAlarm(group: Set<Alarm>): Alarm {
    let alarm = idle.pop();
    // An alarm that stayed idle until its timer fired cannot be used again.
    while (alarm?.isOver) alarm = idle.pop();
    if (!alarm) return createAlarm(group);
    alarm.timer.refresh();
    alarm.isDue = false;
    alarm.group = group;
    return alarm;
  }

  function createAlarm(group: Set<Alarm>): Alarm {
    const alarm: Alarm = {
      isOver: false,
      isDue: false,
      onOver: undefined,
      group,
      // Open connections keep the process alive during a call; an idle alarm must not.
      timer: setTimeout(() => ringAfterReading(alarm), timeoutMs).unref(),
      clear: () => clear(alarm),
    };
    return alarm;
  }

  return {
    start: (parent) => {
      // One that has fired calls no listener, so its group would never be forgotten.
      const group = parent.aborted ? new Set<Alarm>() : groupUnder(parent);
      const alarm = takeAlarm(group);
      group.add(alarm);
      if (parent.aborted) ring(alarm);
      return alarm;
    },
  };
}
