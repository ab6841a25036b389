import { describe, expect, it } from 'vitest';

import { CAUGHT_UP_AFTER_MS, nextConnectionState, connecting, type ConnectionState, type ConnectionEvent } from './connectionState';

const play = (connection: ConnectionState, ...events: ConnectionEvent[]): ConnectionState => events.reduce(nextConnectionState, connection);
const live = play(connecting(0), { type: 'opened', nowMs: 10 }, { type: 'received', nowMs: 20, what: 'state', entries: 0 });
const disconnected = play(live, { type: 'disconnected', nowMs: 100, reason: 'connection reset', retryInMs: 500 });

describe('the connection state', () => {
  it('the connection is live when the stream is opened', () => {
    expect(live).toEqual({ status: 'live', heardAtMs: 20 });
  });

  it('the connection state contains the time of the last message while the page cannot reconnect', () => {
    expect(disconnected).toEqual({ status: 'disconnected', heardAtMs: 20, reason: 'connection reset', retryAtMs: 600 });
    expect(play(disconnected, { type: 'disconnected', nowMs: 700, reason: 'connection refused', retryInMs: 1000 })).toMatchObject({ heardAtMs: 20, retryAtMs: 1700 });
  });

  it('the connection state contains no time of the last message if no message was received', () => {
    expect(play(connecting(0), { type: 'disconnected', nowMs: 5, reason: 'unreachable', retryInMs: 500 })).toMatchObject({ status: 'disconnected', heardAtMs: null });
  });

  it('counts missed events until the current state is received', () => {
    const opened = play(disconnected, { type: 'opened', nowMs: 800 }, { type: 'received', nowMs: 801, what: 'nothing', entries: 0 });
    expect(opened).toMatchObject({ status: 'catching-up', missed: 0, heardAtMs: 20 });
    const received = play(opened, { type: 'received', nowMs: 810, what: 'entries', entries: 200 }, { type: 'received', nowMs: 820, what: 'entries', entries: 7 });
    expect(received).toMatchObject({ status: 'catching-up', missed: 207, heardAtMs: 820 });
    expect(play(received, { type: 'received', nowMs: 830, what: 'state', entries: 0 })).toEqual({ status: 'live', heardAtMs: 830 });
  });

  it('the connection becomes live if only keep-alives arrive for a while after the stream is reopened', () => {
    const opened = play(disconnected, { type: 'opened', nowMs: 800 });
    expect(play(opened, { type: 'received', nowMs: 800 + CAUGHT_UP_AFTER_MS, what: 'nothing', entries: 0 })).toMatchObject({ status: 'live' });
  });

  it('the connection stays live when the server ends the stream on schedule', () => {
    expect(play(live, { type: 'disconnected', nowMs: 900, reason: 'ended', retryInMs: 0 })).toBe(live);
  });

  it('the connection is paused while the page is hidden, and is disconnected only if a later attempt to reconnect fails', () => {
    const paused = play(live, { type: 'paused' });
    expect(paused).toEqual({ status: 'paused', heardAtMs: 20 });
    expect(play(disconnected, { type: 'paused' })).toEqual(paused);
    expect(play(paused, { type: 'opened', nowMs: 900 })).toEqual({ status: 'catching-up', heardAtMs: 20, sinceMs: 900, missed: 0 });
    expect(play(paused, { type: 'disconnected', nowMs: 900, reason: 'unreachable', retryInMs: 500 })).toEqual({ status: 'disconnected', heardAtMs: 20, reason: 'unreachable', retryAtMs: 1400 });
    expect(play(connecting(0), { type: 'paused' }, { type: 'opened', nowMs: 900 })).toEqual({ status: 'live', heardAtMs: 900 });
  });

  it('the connection has the status `refused` after the API has refused the stream', () => {
    expect(play(live, { type: 'refused', nowMs: 1, reason: 'there is no job 7' })).toEqual({ status: 'refused', reason: 'there is no job 7' });
  });
});
