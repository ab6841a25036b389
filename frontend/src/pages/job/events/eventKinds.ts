/** The kinds of events that the filter lists, by group, with the names that the runtime and the backend use. */
const KINDS_BY_GROUP: Readonly<Record<string, readonly string[]>> = {
  'State': ['RunStateChanged', 'DesiredStateChanged', 'RunCreated', 'RunEnded', 'ReassignmentBlocked', 'DriverHung', 'GraphDeployed', 'JobDeployed', 'RestartsStopped', 'RestartScheduled'],
  'Failures': ['FailureOccurred', 'Recovered', 'WarningReported', 'EventsMissing'],
  'Checkpoints': [
    'CheckpointTriggered', 'CheckpointCompleted', 'CheckpointFailed', 'CheckpointPinned', 'CheckpointUnpinned', 'PinsRejected', 'CheckpointDeletionRequested',
    'CheckpointsDeleted', 'CheckpointDamaged', 'CheckpointIntact',
  ],
  'Plans': ['PlanProposed', 'PlanInspected', 'PlanApproved', 'PlanApplying', 'PlanPhaseChanged', 'PlanApplied', 'PlanFailed', 'PlanDiscarded'],
  'Commands and versions': ['CommandAnswered', 'OperationEnded', 'SpecAdded', 'SpecCompiled'],
  'Alerts': ['AlertFired', 'AlertResolved', 'AlertNotDelivered'],
};

export const KINDS: readonly string[] = Object.values(KINDS_BY_GROUP).flat();

export function groupOf(kind: string): string {
  return Object.entries(KINDS_BY_GROUP).find(([, kinds]) => kinds.includes(kind))?.[0] ?? 'Others';
}
