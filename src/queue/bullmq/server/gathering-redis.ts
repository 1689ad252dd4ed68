import { type Command, Redis } from 'ioredis';

/**
 * A connection that sends all commands of one turn of the event loop in one packet. Each packet costs a
 * system call on either side, which takes longer than most commands do.
 *
 * `enableAutoPipelining` of ioredis does the same, but not for scripts, which most commands of BullMQ are.
 */
export class GatheringRedis extends Redis {
  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    const { stream: socket } = this;
    // There is none before the connection is begun.
    if (socket?.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    return super.sendCommand(command, stream);
  }
}
