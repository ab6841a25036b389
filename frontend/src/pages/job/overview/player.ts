/** A replay as its controls have it: a pure state machine. Time goes by only in frames that whoever draws tells. */
export const SLOWDOWNS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] as const;
export type Slowdown = (typeof SLOWDOWNS)[number];

export interface Player {
  durationMs: number;
  positionMs: number;
  playing: boolean;
  /** A millisecond of the checkpoint takes so many. */
  slowdown: Slowdown;
}

export type PlayerNews =
  | { type: 'play' }
  | { type: 'pause' }
  | { type: 'seek'; toMs: number }
  | { type: 'slowdown'; slowdown: Slowdown }
  | { type: 'frame'; passedMs: number };

/** A page that was hidden draws no frames; what it missed is not caught up at once. */
const FRAME_MS_MAX = 250;
/** About so long a replay takes, unless somebody wants it otherwise. */
const WATCHED_MS = 9_000;

export function beginPlayer(durationMs: number): Player {
  const slowdown = SLOWDOWNS.findLast((one) => one * durationMs <= WATCHED_MS) ?? 1;
  return { durationMs, positionMs: 0, playing: true, slowdown };
}

export function nextPlayer(player: Player, news: PlayerNews): Player {
  switch (news.type) {
    case 'play':
      return { ...player, playing: true, positionMs: player.positionMs >= player.durationMs ? 0 : player.positionMs };
    case 'pause':
      return player.playing ? { ...player, playing: false } : player;
    case 'seek':
      return { ...player, positionMs: Math.min(player.durationMs, Math.max(0, news.toMs)) };
    case 'slowdown':
      return { ...player, slowdown: news.slowdown };
    case 'frame': {
      if (!player.playing) return player;
      const positionMs = player.positionMs + Math.min(FRAME_MS_MAX, Math.max(0, news.passedMs)) / player.slowdown;
      return positionMs >= player.durationMs ? { ...player, positionMs: player.durationMs, playing: false } : { ...player, positionMs };
    }
  }
}
