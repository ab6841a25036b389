/** A stored checkpoint while it is played again: the player, and the wavefront at its position. Pure. */
import { beginPlayer, nextPlayer, type Player, type PlayerNews } from './player';
import { waveAt, type Script } from './script';
import type { Wave } from './wavefront';

export interface Replay {
  script: Script;
  player: Player;
  wave: Wave;
}

export function beginReplay(script: Script): Replay {
  const player = beginPlayer(script.durationMs);
  return { script, player, wave: waveAt(script, player.positionMs, null) };
}

export function nextReplay(replay: Replay, news: PlayerNews): Replay {
  const player = nextPlayer(replay.player, news);
  if (player === replay.player) return replay;
  const { script } = replay;
  return { script, player, wave: player.positionMs === replay.player.positionMs ? replay.wave : waveAt(script, player.positionMs, replay.wave) };
}
