/**
 * The colours of all states. A state has a tone. In each theme, a tone has a colour for text (ink) and a background colour (ground). Text in the
 * colour `ink` is readable on `ground` and on the default background (states.test.ts). Colour is never the only information, because the state's name
 * is always shown with it.
 */
import type { Schemas } from '../api/types';

export type Tone = 'good' | 'busy' | 'attention' | 'bad' | 'unknown' | 'paused' | 'done' | 'waiting';
export type Mode = 'light' | 'dark';
interface Colours {
  /** The colour of text and lines. */
  ink: string;
  /** The background colour behind text in the colour `ink`. */
  ground: string;
}

export const TONES: Record<Tone, Record<Mode, Colours>> = {
  good: { light: { ink: '#0b6b3a', ground: '#dcf2e4' }, dark: { ink: '#6fd49a', ground: '#12301f' } },
  busy: { light: { ink: '#1657a8', ground: '#e0ecfb' }, dark: { ink: '#8abaf5', ground: '#14283f' } },
  attention: { light: { ink: '#854600', ground: '#fcefd2' }, dark: { ink: '#f0b95a', ground: '#38280c' } },
  bad: { light: { ink: '#b0241c', ground: '#fde5e3' }, dark: { ink: '#ff9a92', ground: '#42191a' } },
  unknown: { light: { ink: '#6a35a8', ground: '#efe6fb' }, dark: { ink: '#c8a4f5', ground: '#2c1d42' } },
  paused: { light: { ink: '#46566a', ground: '#e6ecf2' }, dark: { ink: '#a9b8c8', ground: '#24303c' } },
  done: { light: { ink: '#07616e', ground: '#d9f1f4' }, dark: { ink: '#6fcbd6', ground: '#0f2e33' } },
  waiting: { light: { ink: '#586270', ground: '#eceff3' }, dark: { ink: '#9fabb9', ground: '#1f262e' } },
};

/** The default background colour of each theme. */
export const PAPER: Record<Mode, string> = { light: '#ffffff', dark: '#171c23' };

type Tones<State extends string> = Record<State, Tone>;

const run: Tones<Schemas['RunState']> = {
  CREATED: 'waiting',
  INITIALIZING: 'busy',
  RUNNING: 'good',
  RESTARTING: 'attention',
  FAILING: 'bad',
  CANCELLING: 'attention',
  RECONCILING: 'unknown',
  FINISHED: 'done',
  SUSPENDED: 'paused',
  CANCELED: 'paused',
  FAILED: 'bad',
};
const desired: Tones<Schemas['DesiredState']> = { RUNNING: 'good', SUSPENDED: 'paused', CANCELLED: 'paused' };
const health: Tones<Schemas['Health']> = { healthy: 'good', degraded: 'busy', needs_attention: 'bad' };
const checkpoint: Tones<Schemas['CheckpointState']> = { IN_PROGRESS: 'busy', COMPLETED: 'good', FAILED: 'bad' };
const backpressure: Tones<Schemas['BackpressureLevel']> = { ok: 'good', low: 'attention', high: 'bad' };
const spec: Tones<Schemas['SpecState']> = { COMPILING: 'busy', VALID: 'good', INVALID: 'bad' };
const operation: Tones<Schemas['OperationState']> = {
  PENDING: 'waiting',
  RUNNING: 'busy',
  SUCCEEDED: 'good',
  FAILED: 'bad',
  SUPERSEDED: 'paused',
};
const plan: Tones<Schemas['PlanState']> = {
  PROPOSED: 'waiting',
  APPROVED: 'busy',
  APPLYING: 'busy',
  APPLIED: 'good',
  FAILED: 'bad',
  DISCARDED: 'paused',
};
const planPhase: Tones<Schemas['PlanPhase']> = { VERIFYING: 'busy', STOPPING: 'attention', STARTING: 'busy', REVERTING: 'attention' };
const alert: Tones<Schemas['AlertState']> = { FIRING: 'bad', RESOLVED: 'good' };
const delivery: Tones<Schemas['DeliveryState']> = { PENDING: 'waiting', DELIVERED: 'good', FAILED: 'bad' };
/** The states of user accounts and of tokens. `switched`: the states of alert rules and webhooks. */
const account: Tones<'active' | 'disabled'> = { active: 'good', disabled: 'paused' };
const token: Tones<'valid' | 'expires soon' | 'expired' | 'revoked'> = { valid: 'good', 'expires soon': 'attention', expired: 'waiting', revoked: 'paused' };
const switched: Tones<'on' | 'off'> = { on: 'good', off: 'paused' };
/** The wavefront steps of a subtask in a checkpoint. */
const wavefront: Tones<'waiting' | 'aligning' | 'snapshotted' | 'acknowledged'> = {
  waiting: 'waiting',
  aligning: 'attention',
  snapshotted: 'busy',
  acknowledged: 'good',
};
/** The states of a component of the platform, such as Postgres. */
const component: Tones<Schemas['ComponentStatus']> = { up: 'good', down: 'bad', unknown: 'unknown' };
/** The levels of log lines. */
const log: Tones<'debug' | 'info' | 'warning' | 'error' | 'critical'> = { debug: 'waiting', info: 'busy', warning: 'attention', error: 'bad', critical: 'bad' };
/** How a subtask spends its time. */
const time: Tones<'busy' | 'idle' | 'backpressured' | 'queued'> = {
  busy: 'busy',
  idle: 'waiting',
  backpressured: 'bad',
  queued: 'attention',
};
/** The phases of a checkpoint in a subtask. The phases of a subtask that has not acknowledged are unknown. */
const phase: Tones<'start delay' | 'alignment' | 'sync' | 'async' | 'acknowledging' | 'not acknowledged'> = {
  'start delay': 'waiting',
  alignment: 'attention',
  sync: 'bad',
  async: 'busy',
  acknowledging: 'paused',
  'not acknowledged': 'unknown',
};

/** Tones by kind of state, as in `<StateChip kind="run" state="RUNNING" />`. */
export const STATES = {
  run, desired, health, checkpoint, backpressure, spec, operation, plan, planPhase, alert, delivery, account, token, switched,
  wavefront, component, log, time, phase,
} as const;
export type StateKind = keyof typeof STATES;
export type StateOf<Kind extends StateKind> = Extract<keyof (typeof STATES)[Kind], string>;

export function toneOf<Kind extends StateKind>(kind: Kind, state: StateOf<Kind>): Tone {
  // A newer backend can have states that this page does not know.
  return (STATES[kind] as Record<string, Tone>)[state] ?? 'unknown';
}

export function coloursOf<Kind extends StateKind>(kind: Kind, state: StateOf<Kind>, mode: Mode): Colours {
  return TONES[toneOf(kind, state)][mode];
}
