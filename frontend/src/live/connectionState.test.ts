import { describe, expect, it } from 'vitest';

import { CAUGHT_UP_AFTER_MS, nextConnectionState, connecting, type ConnectionState, type ConnectionEvent } from './connectionState';

const play = (connection: ConnectionState, ...events: ConnectionEvent[]): ConnectionState => events.reduce(nextConnectionState, connection);
const live = play(connecting(0), { type: 'opened', nowMs: 10 }, { type: 'received', nowMs: 20, what: 'state', entries: 0 });
const disconnected = play(live, { type: 'disconnected', nowMs: 100, reason: 'gone', retryInMs: 500 });

describe('a connection', () => {
  it('is live once it is opened', () => {
    expect(live).toEqual({ status: 'live', heardAtMs: 20 });
  });

  it('keeps the time of the last message while reconnecting fails', () => {
    expect(disconnected).toEqual({ status: 'disconnected', heardAtMs: 20, reason: 'gone', retryAtMs: 600 });
    expect(play(disconnected, { type: 'disconnected', nowMs: 700, reason: 'still gone', retryInMs: 1000 })).toMatchObject({ heardAtMs: 20, retryAtMs: 1700 });
  });

  it('has no last message if it never received one', () => {
    expect(play(connecting(0), { type: 'disconnected', nowMs: 5, reason: 'away', retryInMs: 500 })).toMatchObject({ status: 'disconnected', heardAtMs: null });
  });

  it('counts missed entries until it receives the current state', () => {
    const opened = play(disconnected, { type: 'opened', nowMs: 800 }, { type: 'received', nowMs: 801, what: 'nothing', entries: 0 });
    expect(opened).toMatchObject({ status: 'catching-up', missed: 0, heardAtMs: 20 });
    const received = play(opened, { type: 'received', nowMs: 810, what: 'entries', entries: 200 }, { type: 'received', nowMs: 820, what: 'entries', entries: 7 });
    expect(received).toMatchObject({ status: 'catching-up', missed: 207, heardAtMs: 820 });
    expect(play(received, { type: 'received', nowMs: 830, what: 'state', entries: 0 })).toEqual({ status: 'live', heardAtMs: 830 });
  });

  it('has caught up after a while with keep-alives only', () => {
    const opened = play(disconnected, { type: 'opened', nowMs: 800 });
    expect(play(opened, { type: 'received', nowMs: 800 + CAUGHT_UP_AFTER_MS, what: 'nothing', entries: 0 })).toMatchObject({ status: 'live' });
  });

  it('stays live when the server ends the stream as planned', () => {
    expect(play(live, { type: 'disconnected', nowMs: 900, reason: 'ended', retryInMs: 0 })).toBe(live);
  });

  it('is paused and not disconnected while hidden, unless reconnecting fails', () => {
    const paused = play(live, { type: 'paused' });
    expect(paused).toEqual({ status: 'paused', heardAtMs: 20 });
    expect(play(disconnected, { type: 'paused' })).toEqual(paused);
    expect(play(paused, { type: 'opened', nowMs: 900 })).toEqual({ status: 'catching-up', heardAtMs: 20, sinceMs: 900, missed: 0 });
    expect(play(paused, { type: 'disconnected', nowMs: 900, reason: 'away', retryInMs: 500 })).toEqual({ status: 'disconnected', heardAtMs: 20, reason: 'away', retryAtMs: 1400 });
    expect(play(connecting(0), { type: 'paused' }, { type: 'opened', nowMs: 900 })).toEqual({ status: 'live', heardAtMs: 900 });
  });

  it('stays refused', () => {
    expect(play(live, { type: 'refused', nowMs: 1, reason: 'there is no job 7' })).toEqual({ status: 'refused', reason: 'there is no job 7' });
  });
});
