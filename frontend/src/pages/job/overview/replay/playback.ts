/** A pure state machine for the position in a replay. Only animation frames advance the position. */
import type { Wavefront } from '../wavefront/wavefront';
import { wavefrontAt, type Recording } from './recording';

export const SLOWDOWNS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] as const;
export type Slowdown = (typeof SLOWDOWNS)[number];

export interface Playback {
  durationMs: number;
  positionMs: number;
  playing: boolean;
  /** The number of milliseconds of playback per millisecond of the checkpoint. */
  slowdown: Slowdown;
}

export type PlaybackAction =
  | { type: 'play' }
  | { type: 'pause' }
  | { type: 'seek'; toMs: number }
  | { type: 'slowdown'; slowdown: Slowdown }
  | { type: 'frame'; passedMs: number };

/** The maximum time by which one frame advances the playback. A hidden page draws no frames, so its playback pauses. */
const FRAME_MS_MAX = 250;
/** The intended length of a replay at the default speed. */
const DEFAULT_LENGTH_MS = 9_000;

export function initialPlayback(durationMs: number): Playback {
  const slowdown = SLOWDOWNS.findLast((one) => one * durationMs <= DEFAULT_LENGTH_MS) ?? 1;
  return { durationMs, positionMs: 0, playing: true, slowdown };
}

export function reducePlayback(playback: Playback, action: PlaybackAction): Playback {
  switch (action.type) {
    case 'play':
      return { ...playback, playing: true, positionMs: playback.positionMs >= playback.durationMs ? 0 : playback.positionMs };
    case 'pause':
      return playback.playing ? { ...playback, playing: false } : playback;
    case 'seek':
      return { ...playback, positionMs: Math.min(playback.durationMs, Math.max(0, action.toMs)) };
    case 'slowdown':
      return { ...playback, slowdown: action.slowdown };
    case 'frame': {
      if (!playback.playing) return playback;
      const positionMs = playback.positionMs + Math.min(FRAME_MS_MAX, Math.max(0, action.passedMs)) / playback.slowdown;
      return positionMs >= playback.durationMs ? { ...playback, positionMs: playback.durationMs, playing: false } : { ...playback, positionMs };
    }
  }
}

export interface Replay {
  recording: Recording;
  playback: Playback;
  wave: Wavefront;
}

export function initialReplay(recording: Recording): Replay {
  const playback = initialPlayback(recording.durationMs);
  return { recording, playback, wave: wavefrontAt(recording, playback.positionMs, null) };
}

export function reduceReplay(replay: Replay, action: PlaybackAction): Replay {
  const playback = reducePlayback(replay.playback, action);
  if (playback === replay.playback) return replay;
  const { recording } = replay;
  return { recording, playback, wave: playback.positionMs === replay.playback.positionMs ? replay.wave : wavefrontAt(recording, playback.positionMs, replay.wave) };
}
