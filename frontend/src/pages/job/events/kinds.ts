/** Kinds of events, as runtime and backend name them, by what they are about. A kind that is not here can be typed in. */
export const KINDS_BY_SUBJECT: Readonly<Record<string, readonly string[]>> = {
  'State': ['RunStateChanged', 'StateWanted', 'RunBegun', 'RunEnded', 'RunStranded', 'DriverHung', 'GraphDeployed', 'JobDeployed', 'GaveUp', 'RestartPlanned'],
  'Failures': ['FailureOccurred', 'Recovered', 'EventsMissing'],
  'Checkpoints': [
    'CheckpointTriggered', 'CheckpointCompleted', 'CheckpointFailed', 'CheckpointPinned', 'CheckpointUnpinned', 'PinsCameTooLate', 'CheckpointDeletionAsked',
    'CheckpointsDeleted', 'CheckpointDamaged', 'CheckpointFoundWhole',
  ],
  'Plans': ['PlanProposed', 'PlanInspected', 'PlanApproved', 'PlanApplying', 'PlanEntered', 'PlanApplied', 'PlanFailed', 'PlanWithdrawn'],
  'Commands and versions': ['CommandAnswered', 'OperationEnded', 'SpecAdded', 'SpecCompiled'],
  'Alerts': ['AlertFired', 'AlertResolved', 'AlertNotDelivered'],
};

export const KINDS: readonly string[] = Object.values(KINDS_BY_SUBJECT).flat();

export function subjectOf(kind: string): string {
  return Object.entries(KINDS_BY_SUBJECT).find(([, kinds]) => kinds.includes(kind))?.[0] ?? 'Others';
}
