import { type Command, Redis } from 'ioredis';

/**
 * A connection that sends all commands of one turn of the event loop in one packet. Each packet
 * costs a system call on either side, which takes longer than most commands do.
 *
 * `enableAutoPipelining` of ioredis does the same, but not for scripts, and most commands of BullMQ
 * are scripts.
 */
export class GatheringRedis extends Redis {
  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    const { stream: socket } = this;
    // There is no socket before the connection is started.
    if (socket?.writableCorked === 0) {
      socket.cork();
      setImmediate(() => socket.uncork());
    }
    return super.sendCommand(command, stream);
  }
}
