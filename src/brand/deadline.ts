/** Bounds one call in time. Not to be used any more after `clear`. */
export interface Deadline {
  /** Whether time is up, or the caller has given up. */
  readonly isOver: boolean;
  /** Called once, when it is over. Whoever works under it says here how to stop that. */
  onOver: (() => void) | undefined;
  /** To be called when the work is done. */
  readonly clear: () => void;
}

/** Bounds calls in time. */
export interface Deadlines {
  /** Starts the time of one call, which also ends when `parent` fires. */
  start(parent: AbortSignal): Deadline;
}

interface Alarm {
  isOver: boolean;
  /** Its time is up. */
  isDue: boolean;
  onOver: (() => void) | undefined;
  /** All that end with the same parent. */
  group: Set<Alarm>;
  readonly timer: NodeJS.Timeout;
  readonly clear: () => void;
}

/**
 * Makes deadlines that leave nothing behind and cost little: at thousands of calls per second the
 * timers of `AbortSignal.timeout` pile up, and a controller, a timer and a listener for each call
 * cost half as much as the call. So alarms that never went off are set again, and each parent is
 * listened to once.
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
   * A process that was frozen for longer than a call may take (a laptop that slept, a container that was
   * paused) finds its timers due before it has looked at its connections, where the answers lie. So these
   * are read first.
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
    // One that nobody needed for so long went off in the meantime.
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
      // Connections keep the process alive while a call is under way; an idle alarm must not.
      timer: setTimeout(() => ringAfterReading(alarm), timeoutMs).unref(),
      clear: () => clear(alarm),
    };
    return alarm;
  }

  return {
    start: (parent) => {
      const group = groupUnder(parent);
      const alarm = takeAlarm(group);
      group.add(alarm);
      if (parent.aborted) ring(alarm);
      return alarm;
    },
  };
}
